"""Tensors of PyTorch and JAX: products, gradients by finite differences, a training loop, and what is refused."""

import functools
import sys
import threading

import numpy as np
import pylops
import pytest

import kirchhoff_lsm as lsm
from kirchhoff_lsm.tensors import host_array

pytestmark = pytest.mark.filterwarnings("ignore")


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch", reason="torch is not installed")
        self.tensor, self.wrap, self.kind, self.tanh = self.torch.from_numpy, lsm.to_torch, self.torch.Tensor, self.torch.tanh

    def gradients(self, function, *values):
        """Those of a scalar function by arrays."""
        leaves = [self.tensor(v.copy()).requires_grad_() for v in values]
        return [g.numpy() for g in self.torch.autograd.grad(function(*leaves), leaves)]

    def hessian_product(self, function, m, v):
        leaf = self.tensor(m.copy()).requires_grad_()
        (gradient,) = self.torch.autograd.grad(function(leaf), leaf, create_graph=True)
        return self.torch.autograd.grad((gradient * self.tensor(v)).sum(), leaf)[0].numpy()


class Jax:
    def __init__(self):
        self.jax = pytest.importorskip("jax", reason="jax is not installed")
        self.tensor, self.wrap, self.kind, self.tanh = self.jax.numpy.asarray, lsm.to_jax, self.jax.Array, self.jax.numpy.tanh

        self.compiled = functools.cache(lambda function, n: self.jax.jit(self.jax.grad(function, tuple(range(n)))))

    def gradients(self, function, *values):
        return [np.asarray(g) for g in self.compiled(function, len(values))(*values)]

    def hessian_product(self, function, m, v):
        return self.jax.grad(lambda m: (self.jax.grad(function)(m) * v).sum())(m)


@pytest.fixture(params=[Torch, Jax])
def library(request):
    made = request.param()
    if request.param is Torch:
        yield made
        return
    with made.jax.enable_x64(True):
        yield made


def operator(dtype="float64", nx=31, nz=21):
    x, z, t = np.arange(nx) * 10.0, np.arange(nz) * 10.0, np.arange(150) * 0.004
    srcs, recs = (np.vstack([np.linspace(0, x[-1], n), np.zeros(n)]) for n in (5, 8))
    a = (np.pi * 20 * 0.004 * np.arange(-20, 21)) ** 2
    return lsm.Kirchhoff(z, x, t, srcs, recs, 2000.0, (1 - 2 * a) * np.exp(-a), 20, mode="analytic", dtype=dtype)


def numbers(shape, seed=1, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("engine", ["float32", "float64"])
def test_products(library, engine, dtype):
    """They are those of the operator, for one image and for several, and pass the dot test; types stay."""
    op = operator(engine)
    f = library.wrap(op)
    m, d = numbers((2, 3, *op.dims), 1, dtype), numbers((2, 3, *op.dimsd), 2, dtype)
    data, images = f(library.tensor(m)), f.H(library.tensor(d))
    assert isinstance(data, library.kind) and isinstance(images, library.kind)
    assert f.H.H.dims == op.dims and f.dimsd == op.dimsd
    data, images = np.asarray(data), np.asarray(images)
    assert data.dtype == images.dtype == dtype and data.shape == d.shape and images.shape == m.shape
    assert np.array_equal(data[1, 2], (op @ m[1, 2]).astype(dtype)) and np.array_equal(images[0, 1], (op.H @ d[0, 1]).astype(dtype))
    assert np.array_equal(np.asarray(f(library.tensor(m[0, 0]))), data[0, 0])
    left, right = np.vdot(data.astype(float), d), np.vdot(m, images.astype(float))
    exact = engine == dtype == "float64"
    assert abs(left - right) <= (1e-13 if exact else 1e-6) * np.linalg.norm(data) * np.linalg.norm(d)


def test_gradient(library):
    """That of a misfit after a step that is not linear, by central differences."""
    op = operator()
    f, m, direction = library.wrap(op), numbers(op.dims, 3), numbers(op.dims, 4)
    data = library.tensor(numbers(op.dimsd, 5))

    def misfit(m):
        return 0.5 * ((f(library.tanh(m)) - data) ** 2).sum()

    (gradient,) = library.gradients(misfit, m)
    step = 1e-5
    slope = (float(misfit(library.tensor(m + step * direction))) - float(misfit(library.tensor(m - step * direction)))) / (2 * step)
    assert abs(np.vdot(gradient, direction) - slope) <= 1e-8 * abs(slope)
    curved = np.asarray(library.hessian_product(misfit, m, direction))
    ahead, behind = (library.gradients(misfit, m + s * direction)[0] for s in (step, -step))
    assert np.abs(curved - (ahead - behind) / (2 * step)).max() <= 1e-7 * np.abs(curved).max()


def test_hessian(library):
    """That of half the squared data is the adjoint of the operator's product."""
    op = operator()
    f, v = library.wrap(op), numbers(op.dims, 4)
    product = np.asarray(library.hessian_product(lambda m: 0.5 * (f(m) ** 2).sum(), numbers(op.dims, 3), v))
    want = op.H @ (op @ v)
    assert np.abs(product - want).max() <= 1e-13 * np.abs(want).max()


def test_any_operator(library):
    op = pylops.FirstDerivative((4, 6), axis=1)
    m = numbers((4, 6))
    f = library.wrap(op)
    assert np.array_equal(np.asarray(f(library.tensor(m))), op @ m)
    assert np.allclose(library.gradients(lambda m: (f(m) * f(m)).sum() / 2, m)[0], op.H @ (op @ m), rtol=0, atol=1e-14)


def unrolled(steps, weights, adjoint, normal, image):
    """Gradient steps from zero, each with a length and all with the weights of an image."""
    for step in steps:
        image = image - step * weights * (normal(image) - adjoint)
    return image


def by_hand(steps, weights, adjoint, normal, truth):
    """The loss of the image of unrolled, and its gradients by steps and weights."""
    images, slopes = [0 * truth], []
    for step in steps:
        slopes.append(normal(images[-1]) - adjoint)
        images.append(images[-1] - step * weights * slopes[-1])
    loss, back = 0.5 * np.sum((images[-1] - truth) ** 2), images[-1] - truth
    by_steps, by_weights = np.zeros_like(steps), np.zeros_like(weights)
    for i in reversed(range(len(steps))):
        by_steps[i] = -np.vdot(back, weights * slopes[i])
        by_weights -= steps[i] * back * slopes[i]
        back = back - steps[i] * normal(weights * back)
    return loss, by_steps, by_weights


def test_training(library):
    """Three gradient steps learn their lengths and weights, as the same loop by hand does."""
    op = operator()
    f, truth = library.wrap(op), numbers(op.dims, 6)
    scale = np.linalg.norm(op.H @ (op @ truth)) / np.linalg.norm(truth)
    adjoint = op.H @ (op @ truth) / scale
    hand = [np.full(3, 0.5), np.ones(op.dims)]
    learned, losses = [v.copy() for v in hand], []
    of_tensors = library.tensor(adjoint), lambda m: f.H(f(m)) / scale, library.tensor(0 * truth)

    def loss(steps, weights):
        return 0.5 * ((unrolled(steps, weights, *of_tensors) - library.tensor(truth)) ** 2).sum()

    for _ in range(10):
        now, *want = by_hand(*hand, adjoint, lambda m: op.H @ (op @ m) / scale, truth)
        assert np.isclose(float(loss(*map(library.tensor, learned))), now, rtol=1e-12)
        got = library.gradients(loss, *learned)
        losses.append(now)
        for value, gradient in zip([*hand, *learned], [*want, *got]):
            value -= (1e-4 if value.ndim == 1 else 0.02) * gradient
    assert all(a > b for a, b in zip(losses, losses[1:])) and losses[-1] < 0.98 * losses[0]
    for a, b in zip(hand, learned):
        assert np.allclose(a, b, rtol=0, atol=1e-11)


def test_threads(library):
    """Gradients of several threads at a time, by an operator whose products another thread does for the main one."""
    op = operator("float32", 201, 301)
    f, m, got = library.wrap(op), numbers(op.dims, 1, "float32"), {}

    def work(i):
        got[i] = library.gradients(lambda m: 0.5 * (f(m) ** 2).sum(), m)[0]

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(3)]
    for thread in threads:
        thread.start()
    work(3)
    for thread in threads:
        thread.join(120)
    assert sorted(got) == [0, 1, 2, 3]
    want = op.H @ (op @ m)
    assert all(np.abs(g - want).max() <= 1e-5 * np.abs(want).max() for g in got.values())


def test_transforms_of_jax():
    made, op = Jax(), operator("float32")
    jax, f, m = made.jax, lsm.to_jax(op), numbers((3, 2, *op.dims), 1, "float32")
    want = np.asarray(f(m))
    assert np.array_equal(jax.jit(f)(m), want)
    assert np.array_equal(jax.vmap(jax.jit(jax.vmap(f, in_axes=1)), in_axes=3)(np.moveaxis(m, 0, 3).swapaxes(0, 1)), want)
    slopes = jax.vmap(jax.vmap(jax.grad(lambda m: 0.5 * (f(m) ** 2).sum())))(m)
    assert np.array_equal(slopes, f.H(f(m)))
    assert np.array_equal(jax.jit(lambda m: jax.jvp(f, (m,), (2 * m,))[1])(m), 2 * want)
    assert np.allclose(jax.hessian(lambda s: 0.5 * (f(s * m[0, 0]) ** 2).sum())(1.0), np.sum(want[0, 0] ** 2), rtol=1e-5)
    with pytest.raises(NotImplementedError, match='operator for a card: .*backend="cpu"'):
        jax.jit(f).trace(m).lower(lowering_platforms=("cuda",))


def test_torch_func():
    made, op = Torch(), operator()
    torch, f, m = made.torch, lsm.to_torch(op), made.tensor(numbers((3, 21, 31), 1)).transpose(1, 2)
    assert torch.equal(torch.func.vmap(f)(m), f(m))
    assert torch.equal(torch.func.vmap(f, in_dims=2)(m.movedim(0, 2)), f(m))
    assert torch.equal(torch.func.jvp(f, (m,), (2 * m,))[1], f(2 * m))
    with torch.no_grad():
        assert not f(m.clone().requires_grad_()).requires_grad
    compiled = torch.compile(lambda m: torch.compiler.disable(f)(2 * m).sum(), backend="eager")
    assert torch.isclose(compiled(m), f(2 * m).sum())


def test_matmul_of_tensors(library):
    """op @ tensor is a tensor."""
    op = operator("float32")
    m, d = numbers((*op.dims, 3), 1, "float32"), numbers(op.dimsd, 2, "float32")
    for a, product in ((m[..., 0].copy(), op), (m, op), (m.reshape(-1, 3), op), (d, op.H), (d.ravel(), op.H)):
        got = product @ library.tensor(a)
        assert isinstance(got, library.kind) and np.array_equal(np.asarray(got), product @ a)


class Foreign:
    """An array of another library, in memory of a kind of DLPack's."""

    dtype = np.dtype("float32")

    def __init__(self, values, kind=1):
        self.values, self.kind, self.shape, self.ndim = values, kind, values.shape, values.ndim

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **_):
        return self.values.__dlpack__()

    def ravel(self):
        return Foreign(self.values.ravel(), self.kind)

    def __array__(self, *_, **__):
        raise AssertionError("the array was copied")


def test_memory_is_shared():
    values = numbers((4, 5))
    assert np.shares_memory(host_array(Foreign(values)), values)
    op = operator()
    m = numbers(op.dims)
    assert np.array_equal(op @ Foreign(m), op @ m)


@pytest.mark.parametrize("kind", [2, 10, 13])
def test_cards_are_refused(kind):
    op = operator("float32")
    calls = [lambda: op @ Foreign(numbers(op.dims), kind), lambda: op.H @ Foreign(numbers(op.dimsd), kind)]
    for module, wrap in (("torch", lsm.to_torch), ("jax", lsm.to_jax)):
        try:
            f = wrap(op)
        except ImportError:
            print(f"{module} is not installed")
            continue
        calls += [lambda f=f: f(Foreign(numbers(op.dims), kind)), lambda f=f: f.H(Foreign(numbers(op.dimsd), kind))]
    for call in calls:
        with pytest.raises(NotImplementedError, match=rf"Foreign in the memory of a device .DLPack's type {kind}, number 0.*tensor.cpu"):
            call()


def test_refusals(library):
    op = operator()
    f, m = library.wrap(op), numbers(op.dims)
    with pytest.raises(ValueError, match=r"the tensor has the shape \(31, 20\), must have \(31, 21\)"):
        f(library.tensor(m[:, :-1].copy()))
    with pytest.raises(ValueError, match="the tensor has the shape"):
        f(library.tensor(m.ravel()))
    with pytest.raises(TypeError, match="float32 and float64, got .*int32"):
        f(library.tensor(m.astype("int32")))
    with pytest.raises(TypeError, match="got list"):
        f([1.0])
    with pytest.raises(TypeError, match="LinearOperator of PyLops, got ndarray"):
        library.wrap(m)
    with pytest.raises(TypeError, match="op must be real, got one of complex128"):
        library.wrap(pylops.Identity(5, dtype="complex128"))
    with pytest.raises(TypeError, match="lsm.to_(torch|jax)"):
        library.gradients(lambda m: (op @ m).sum(), m)


@pytest.mark.parametrize("module", ["torch", "jax"])
def test_missing_package(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{module} is missing: pip install {module}"):
        getattr(lsm, f"to_{module}")(operator())
