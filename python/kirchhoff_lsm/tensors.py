"""Operators of PyLops as functions of the tensors of PyTorch and JAX, with gradients (packages torch and jax)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .files import needs

if TYPE_CHECKING:
    import jax
    import torch
    from pylops import LinearOperator

Tensor = TypeVar("Tensor")

# The kinds of memory of DLPack that the host reads: its own, and what it shares with CUDA and ROCm, pinned.
HOST = (1, 3, 11)


def host_array(x: Any) -> NDArray[Any]:
    """The numpy array of an array or tensor of another library, in the same memory where it has DLPack."""
    if isinstance(x, np.ndarray):
        return x
    _refuse_device(x)
    if getattr(x, "requires_grad", False):
        raise TypeError("op @ tensor would lose its gradient: use lsm.to_torch(op)(tensor), or op @ tensor.detach()")
    if "jax" in sys.modules and isinstance(x, sys.modules["jax"].core.Tracer):
        raise TypeError("op @ array cannot be traced by JAX: use lsm.to_jax(op)(array)")
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def as_given(function: Callable[[NDArray[Any]], NDArray[Any]], x: Any) -> Any:
    """function of x, as an array of the library that x is of: PyTorch or one of the Array API standard, as JAX is."""
    if isinstance(x, np.ndarray):
        return function(x)
    _refuse_device(x)
    if not hasattr(x, "__dlpack__") and not hasattr(x, "__array_namespace__"):
        return function(x)
    out = function(host_array(x))
    if "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        return sys.modules["torch"].from_numpy(out)
    return x.__array_namespace__().asarray(out) if hasattr(x, "__array_namespace__") else out


def _refuse_device(x: Any) -> None:
    device = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else (HOST[0], 0)
    if device[0] not in HOST or hasattr(x, "__cuda_array_interface__"):
        raise NotImplementedError(
            f"{type(x).__name__} in the memory of a device (DLPack's type {int(device[0])}, number {device[1]}): lsm's engines in Python are "
            "those of the host; hand over its copy there, tensor.cpu(), of JAX jax.device_get(array), of CuPy array.get()"
        )


class TensorOperator(Generic[Tensor]):
    """A linear operator as a function of tensors, made by to_torch and to_jax.

    Attributes
    ----------
    op : pylops.LinearOperator
        The operator.
    dims, dimsd : tuple of int
        Shapes of an image and of its data.
    H : TensorOperator
        The adjoint, from data to images.
    """

    def __init__(self, op: LinearOperator, apply: Callable[[LinearOperator, Tensor], Tensor]) -> None:
        if not all(hasattr(op, name) for name in ("dims", "dimsd", "H", "matvec")):
            raise TypeError(f"op must be a LinearOperator of PyLops, got {type(op).__name__}")
        if np.issubdtype(op.dtype, np.complexfloating):
            raise TypeError(f"op must be real, got one of {np.dtype(op.dtype)}")
        self.op, self.dims, self.dimsd, self._apply = op, tuple(op.dims), tuple(op.dimsd), apply

    @property
    def H(self) -> TensorOperator[Tensor]:
        return TensorOperator(self.op.H, self._apply)

    def __call__(self, x: Tensor) -> Tensor:
        """The data of an image.

        Parameters
        ----------
        x : tensor [..., *dims]
            Images, float32 or float64.

        Returns
        -------
        tensor [..., *dimsd]
            Their data, of the type of x. Leading axes are those of x.
        """
        return self._apply(self.op, x)

    def __repr__(self) -> str:
        return f"<lsm TensorOperator {list(self.dims)} to {list(self.dimsd)} of {self.op!r}>"


def _check(op: LinearOperator, x: Any, kind: type, name: str) -> None:
    if not isinstance(x, kind):
        _refuse_device(x)
        raise TypeError(f"the operator takes a {name}, got {type(x).__name__}")
    if str(x.dtype).removeprefix("torch.") not in ("float32", "float64"):
        raise TypeError(f"the operator takes tensors of float32 and float64, got {x.dtype}")
    if tuple(x.shape)[max(x.ndim - len(op.dims), 0) :] != tuple(op.dims):
        raise ValueError(f"the tensor has the shape {tuple(x.shape)}, must have {tuple(op.dims)} or axes before these")


def _products(op: LinearOperator, x: NDArray[Any]) -> NDArray[Any]:
    """The products of op with arrays [..., *dims], of the type of x."""
    rows = x.reshape(-1, op.shape[1])
    out = np.empty((len(rows), op.shape[0]), x.dtype)
    for row, product in zip(rows, out):
        product[:] = op.matvec(row)
    return out.reshape(_shape(op, x))


def _shape(op: LinearOperator, x: Any) -> tuple[int, ...]:
    return (*x.shape[: x.ndim - len(op.dims)], *op.dimsd)


def to_torch(op: LinearOperator) -> TensorOperator[torch.Tensor]:
    """The operator as a function of tensors of PyTorch, which autograd follows.

    Its gradient is the adjoint, whose gradient is the operator: Hessians have their products too.
    torch.func works with it (grad, vjp, jvp, vmap). Tensors are read where they lie.

    Parameters
    ----------
    op : lsm.Kirchhoff or pylops.LinearOperator
        A real operator, with its exact adjoint.

    Returns
    -------
    TensorOperator
        A function of torch.Tensor ``[..., *op.dims]``, float32 or float64 on the CPU, that gives ``[..., *op.dimsd]`` of
        the same type. Its attribute H is the adjoint.

    Raises
    ------
    NotImplementedError
        At the call, for a tensor on a card.

    Examples
    --------
    >>> f = lsm.to_torch(op)
    >>> image = torch.zeros(f.dims, requires_grad=True)
    >>> ((f(image) - data) ** 2).sum().backward()
    """
    needs("torch")
    import torch

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, op):
            return torch.from_numpy(_products(op, host_array(x.detach())))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.op = inputs[1]

        @staticmethod
        def backward(ctx, gradient):
            return Product.apply(gradient, ctx.op.H), None

        @staticmethod
        def jvp(ctx, tangent, _):
            return Product.apply(tangent, ctx.op)

        @staticmethod
        def vmap(info, in_dims, x, op):
            return Product.apply(x.movedim(in_dims[0], 0), op), 0

    def apply(op, x):
        _check(op, x, torch.Tensor, "torch.Tensor")
        return Product.apply(x, op)

    return TensorOperator(op, apply)


def to_jax(op: LinearOperator) -> TensorOperator[jax.Array]:
    """The operator as a function of arrays of JAX, for jax.jit, jax.grad, jax.jvp, jax.hessian, jax.vmap and the like.

    It is a linear primitive, whose transpose is the adjoint. Only what jax.jit compiles calls back to Python.

    Parameters
    ----------
    op : lsm.Kirchhoff or pylops.LinearOperator
        A real operator, with its exact adjoint.

    Returns
    -------
    TensorOperator
        A function of jax.Array ``[..., *op.dims]``, float32 or float64 on the CPU, that gives ``[..., *op.dimsd]`` of the
        same type. Its attribute H is the adjoint.

    Raises
    ------
    NotImplementedError
        At the call, for an array on a card, and where jax.jit compiles for one.

    Examples
    --------
    >>> f = lsm.to_jax(op)
    >>> gradient = jax.jit(jax.grad(lambda image: 0.5 * ((f(image) - data) ** 2).sum()))
    """
    needs("jax")
    import jax

    product = _primitive()

    def apply(op, x):
        x = jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x
        _check(op, x, jax.Array, "jax.Array")
        return product.bind(x, op=op)

    return TensorOperator(op, apply)


@functools.cache
def _primitive() -> Any:
    """The primitive of JAX of a product with an operator. jax.pure_callback is not it: its copies wait for threads that other
    callbacks have."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    product = Primitive("lsm_product")
    product.def_impl(lambda x, op: jax.numpy.asarray(_products(op, host_array(x))))
    product.def_abstract_eval(lambda x, op: jax.core.ShapedArray(_shape(op, x), x.dtype))
    ad.deflinear2(product, lambda gradient, x, op: [product.bind(gradient, op=op.H)])
    batching.primitive_batchers[product] = lambda x, axes, op: (product.bind(jax.numpy.moveaxis(x[0], axes[0], 0), op=op), 0)

    def call_back(context, x, op):
        def function(v):
            return (_products(op, np.asarray(v)),)

        return mlir.emit_python_callback(context, function, None, [x], context.avals_in, context.avals_out, has_side_effect=False)[0]

    def refuse(context, x, op):
        raise NotImplementedError('jax.jit compiles lsm\'s operator for a card: its engines in Python are those of the host; jax.jit(..., backend="cpu")')

    mlir.register_lowering(product, refuse)
    mlir.register_lowering(product, call_back, platform="cpu")
    return product
