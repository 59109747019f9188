"""Seeds faults in the library that the tests use: python3 python/seeds.py FOLDER writes there an
overlay.json for go build. The library is the same but that it panics at the place that the file
LSM_TEST_SEED names. tests/test_faults.py makes it do so."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "kirchhoff"
PLACES = [
    ("call", "apply.go", "func (k *kernel) Forward(ctx context.Context, dst, src device.Buf) error {"),
    ("call", "double.go", "func (d *doubleImage) Forward(ctx context.Context, dst, src device.Buf) error {"),
    ("call", "reference.go", "func (r *reference) Forward(ctx context.Context, dst, src device.Buf) error {"),
    ("worker", "workspace.go", "workers.Each(ctx, e.threads, len(list), func(worker, i int) error {"),
    ("worker", "double.go", "workers.Each(ctx, d.threads, len(d.cuts)-1, func(worker, block int) error {"),
    ("worker", "reference.go", "workers.Each(ctx, r.threads, r.p.NumTraces(), func(_, trace int) error {"),
    ("making", "cpu.go", "func New(ctx context.Context, p *Problem, w Work) (Engine, error) {"),
    ("making", "double.go", "func NewDouble(ctx context.Context, p *Problem, w Work) (Engine, error) {"),
    ("making", "reference.go", "func NewReference(ctx context.Context, p *Problem, w Work) (Engine, error) {"),
]
SEEDED = """package kirchhoff

import "os"

var seed = os.Getenv("LSM_TEST_SEED")

func seeded(place string) {
	if seed == "" {
		return
	}
	if text, _ := os.ReadFile(seed); string(text) == place {
		var none []int
		none[len(place)]++
	}
}
"""


def sources():
    """The texts of files with faults in them, by their names."""
    texts = {"seeded.go": SEEDED}
    for place, name, line in PLACES:
        text = texts.get(name) or (ROOT / name).read_text()
        if text.count(line) != 1:
            sys.exit(f"seeds.py: kirchhoff/{name} has not one line {line}")
        texts[name] = text.replace(line, f'{line} seeded("{place}");')
    return texts


folder = Path(sys.argv[1]).resolve()
folder.mkdir(parents=True, exist_ok=True)
overlay = {}
for name, text in sources().items():
    file = folder / f"{name}.txt"  # no Go file, which would be of a package there
    file.write_text(text)
    overlay[str(ROOT / name)] = str(file)
(folder / "overlay.json").write_text(json.dumps({"Replace": overlay}))
