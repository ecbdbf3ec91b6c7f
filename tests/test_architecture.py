"""Claims about the architecture, as tests: who imports whom, what is loaded when, and which kernel runs."""

import ast
import inspect
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import roben
from roben import _core, _reference

SOURCE = Path(roben.__file__).parent
CORE = Path(__file__).parent.parent / "core"

# The pipeline. A stage is made from those before it, and knows none behind it.
STAGES = (
    "surface",
    "kernel",
    "vocabulary",
    "graph",
    "clustering",
    "typed",
    "artifact",
    "encoding",
    "extras",
    "folder",
    "lattice",
    "classifier",
    "certificate",
    "attack",
    "baseline",
    "data",
    "victim",
    "experiment",
    "report",
    "quickstart",
)
LATER = ("cli",)

SENTENCE = "Thae mvie wjs misreable, isn’t it? Größe 42!"
ENCODE = f"""
import roben
vocabulary = roben.Vocabulary.from_counts({{"the": 9, "movie": 5, "was": 4, "miserable": 1, "it": 2, "mope": 1}})
encoding = roben.Encoding.build(vocabulary)
for text in ({SENTENCE!a}, "moie"):
    print(encoding(text), [sorted(e.reachable) for e in encoding.explain(text)])
"""


# -- imports ------------------------------------------------------------------------------------------------


def modules() -> dict[str, ast.Module]:
    """The modules of roben by name, without the package's own."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(file.read_text("utf-8"))
    return found


def imports_of(tree: ast.AST, *, lazy: bool) -> set[str]:
    """The modules of roben that are imported: at once, or also later, inside of functions."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            found.update(a.name.removeprefix("roben").lstrip(".") for a in node.names if is_roben(a.name))
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            if is_roben(node.module):
                module = node.module.removeprefix("roben").lstrip(".")
                found.update(
                    name if name in MODULES else module
                    for name in (f"{module}.{a.name}".lstrip(".") for a in node.names)
                )
        for child in ast.iter_child_nodes(node):
            if lazy or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                visit(child)

    visit(tree)
    return found


def is_roben(name: str | None) -> bool:
    return name is not None and name.split(".")[0] == "roben"


MODULES = {*modules(), "_core"}


def reached_from(module: str) -> set[str]:
    """All that is imported along with a module."""
    graph = {name: imports_of(tree, lazy=False) for name, tree in modules().items()}
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def modules_of(stage: str) -> list[str]:
    """A stage is a module, or a package of some."""
    return [name for name in modules() if name.split(".")[0] == stage]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_earlier_stages_only(stage):
    for module in modules_of(stage):
        assert_it_knows_no_later_stage(stage, reached_from(module))


def test_no_stage_waits_for_a_function_to_import_a_later_one():
    for stage in STAGES:
        for module in modules_of(stage):
            assert_it_knows_no_later_stage(stage, imports_of(modules()[module], lazy=True))


def assert_it_knows_no_later_stage(stage: str, imported: set[str]) -> None:
    known = {name.split(".")[0] for name in imported} & {*STAGES, *LATER}
    assert known <= set(STAGES[: STAGES.index(stage) + 1]), stage


def test_only_the_kernel_knows_that_there_are_two():
    for name, tree in modules().items():
        if name != "kernel":
            assert not imports_of(tree, lazy=True) & {"_core", "_reference"}, name
    assert imports_of(modules()["_reference"], lazy=True) == {"kernel"}


def test_imports_run_in_no_circle():
    graph = {name: imports_of(tree, lazy=False) for name, tree in modules().items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join([*path, name])
        if name not in done:
            for imported in graph.get(name, ()):
                visit(imported, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_the_command_line_is_imported_by_itself_alone():
    for name, tree in modules().items():
        if name not in ("__main__", "cli") and not name.startswith("cli."):
            assert "cli" not in imports_of(tree, lazy=True), name


def test_the_public_names_are_there():
    assert len(set(roben.__all__)) == len(roben.__all__)
    for name in roben.__all__:
        assert getattr(roben, name) is not None
    for name in ("EditOne", "InternalPermutation", "Vocabulary", "typo_graph", "agglomerate", "Encoding"):
        assert name in roben.__all__


def test_only_the_binding_knows_python():
    about_python = re.compile(r'^\s*#\s*include\s*[<"].*(?:Python\.h|nanobind|numpy|pybind)', re.MULTILINE)
    files = [file for file in CORE.iterdir() if file.suffix in (".cpp", ".hpp")]
    assert [file.name for file in files if about_python.search(file.read_text("utf-8"))] == ["module.cpp"]
    assert len(files) > 5


def test_importing_roben_loads_nothing_heavy():
    heavy = ("torch", "transformers", "sklearn", "pandas", "scipy", "safetensors", "wordfreq", "rich", "matplotlib")
    code = f"import sys, roben; print([name for name in {heavy} if name in sys.modules])"
    assert run(code) == (0, "[]\n", "")


# -- kernels ------------------------------------------------------------------------------------------------


def run(code: str, **environment: str) -> tuple[int, str, str]:
    """Status, output and errors of a Python of its own."""
    kept = {name: value for name, value in os.environ.items() if name != "ROBEN_KERNEL"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


WITHOUT_COMPILED = "import sys; sys.modules['roben._core'] = None\n"
WHICH = "\nfrom roben.kernel import native_kernel; print(native_kernel().__name__)"


def test_both_kernels_encode_alike_and_the_environment_chooses():
    compiled = run(ENCODE + WHICH)
    assert compiled[0] == 0
    assert compiled[1].endswith("roben._core\n")
    assert compiled[2] == ""
    assert compiled[1].startswith("the movie was miserable , [MASK] it ? [MASK] [MASK] ! [[")
    assert run(ENCODE + WHICH, ROBEN_KERNEL="compiled") == compiled
    reference = run(ENCODE + WHICH, ROBEN_KERNEL="reference")
    assert reference == (0, compiled[1].replace("roben._core", "roben._reference"), "")


def test_an_unknown_kernel_is_an_error():
    status, _, errors = run(ENCODE, ROBEN_KERNEL="nonsense")
    assert status == 1
    assert "ValueError: ROBEN_KERNEL is 'nonsense'; it may be 'compiled' or 'reference'" in errors


def test_without_the_compiled_kernel_roben_works_and_says_so_once():
    status, output, errors = run(WITHOUT_COMPILED + ENCODE + ENCODE + WHICH)
    assert (status, output) == (0, run(ENCODE + ENCODE + WHICH, ROBEN_KERNEL="reference")[1])
    assert errors.count("RuntimeWarning: roben runs on its plain Python kernel") == 1
    assert errors.count("Warning") == 1


def test_without_the_compiled_kernel_the_plain_one_can_be_asked_for_in_silence():
    status, output, errors = run(WITHOUT_COMPILED + WHICH, ROBEN_KERNEL="reference")
    assert (status, output, errors) == (0, "roben._reference\n", "")


def test_without_the_compiled_kernel_it_cannot_be_asked_for():
    status, _, errors = run(WITHOUT_COMPILED + ENCODE, ROBEN_KERNEL="compiled")
    assert status == 1
    assert "ImportError: ROBEN_KERNEL=compiled, but the compiled kernel is missing" in errors


# -- one interface ------------------------------------------------------------------------------------------

Parameters = list[tuple[str, object]]


def of_tree(function: ast.FunctionDef) -> Parameters:
    """Names and defaults, as written."""
    arguments = function.args
    assert not [*arguments.posonlyargs, *arguments.kwonlyargs]
    no_default = [inspect.Parameter.empty] * (len(arguments.args) - len(arguments.defaults))
    defaults = [*no_default, *(ast.literal_eval(default) for default in arguments.defaults)]
    return [(argument.arg, default) for argument, default in zip(arguments.args, defaults, strict=True)]


def of_python(function: object) -> Parameters:
    return [(p.name, p.default) for p in inspect.signature(function).parameters.values()]


def of_compiled(function: object) -> Parameters:
    """Out of the first line of its docstring: "tokenize(text: str, split: str) -> list"."""
    line = function.__doc__.splitlines()[0]
    while "[" in line:  # the kinds of arrays, which are no Python
        line = re.sub(r"\[[^][]*\]", "", line)
    return of_tree(ast.parse(f"def {line}: ...").body[0])


def stub() -> tuple[dict[str, ast.FunctionDef], dict[str, ast.FunctionDef]]:
    """The functions in the stub of the compiled kernel, and the methods of its Encoder."""
    body = ast.parse((SOURCE / "_core.pyi").read_text("utf-8")).body
    (encoder,) = [node for node in body if isinstance(node, ast.ClassDef)]
    assert encoder.name == "Encoder"
    return functions_in(body), functions_in(encoder.body)


def functions_in(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_the_stub_names_what_the_compiled_kernel_has():
    functions, methods = stub()
    assert functions.keys() | {"Encoder"} == public(_core)
    assert methods.keys() == public(_core.Encoder) | {"__init__"}


def test_the_stub_has_the_compiled_signatures():
    functions, methods = stub()
    for name, tree in functions.items():
        assert of_tree(tree) == of_compiled(getattr(_core, name)), name
    for name, tree in methods.items():
        assert of_tree(tree) == of_compiled(getattr(_core.Encoder, name)), name


def test_the_plain_kernel_has_the_same_signatures():
    functions, methods = stub()
    shared = {name for name in functions if hasattr(_reference, name)}
    assert shared == {"typo_graph", "connected_components", "agglomerate", "reachable_codes", "tokenize"}
    for name in shared:
        assert of_python(getattr(_reference, name)) == of_tree(functions[name]), name
    assert public(_reference.Encoder) == methods.keys() - {"__init__"}
    for name, tree in methods.items():
        assert of_python(getattr(_reference.Encoder, name)) == of_tree(tree), name


# -- Ctrl-C -------------------------------------------------------------------------------------------------

SLOW_BUILD = """
import roben
vocabulary = roben.Vocabulary.english(100_000)
surface = roben.EditOne(keep_first=0, keep_last=0)
print("started", flush=True)
while True:
    roben.Encoding.build(vocabulary, surface)
"""


def test_ctrl_c_ends_a_build():
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)  # it takes a fraction of a second
    finally:
        process.kill()
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert process.returncode != 0
