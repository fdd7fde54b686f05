"""A function as text that stands alone in the pods: its source, the names it leans on, and its arguments checked."""

import ast
import builtins
import dis
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping

from hyperflow.dsl.positions import definition_place, keyword_spans, user_frame
from hyperflow.errors import Finding, InputError, nearest

_GIVEN = {*dir(builtins), "__name__", "__file__"}
_PLAIN = (str, int, float, bool, type(None))


def packed_source(fn: Callable[..., object]) -> str:
    """Give the source of a function that stands alone, without the annotations of its signature.

    Raises InputError: HF116 when there is no source to pack, HF117 when it leans on names outside itself.
    """
    if not isinstance(fn, types.FunctionType):
        raise _cannot_pack(fn, f"it is no function but of type {type(fn).__name__}")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, SyntaxError):
        raise _cannot_pack(fn, "its source cannot be read") from None
    definition = tree.body[0]
    if fn.__name__ == "<lambda>" or not isinstance(definition, ast.FunctionDef):
        raise _cannot_pack(fn, "it is no plain def")
    if definition.decorator_list or hasattr(fn, "__wrapped__"):
        raise _cannot_pack(fn, "its decorators would be lost")
    definition.returns = None
    for argument in _arguments(definition.args):
        argument.annotation = None
    outside = sorted({*_names_of_body(fn), *_names_of_defaults(definition), *_relative_imports(definition)})
    if outside:
        raise InputError(
            Finding(
                code="HF117",
                message=f"function {fn.__name__!r} uses names that are not packed with it: {', '.join(outside)}",
                where=definition_place(fn),
                got=", ".join(outside),
                expected="only its arguments, its own names and builtins",
                hint="import inside the function, and pass values as arguments of hf.function",
            )
        )
    return ast.unparse(tree) + "\n"


def check_arguments(fn: Callable[..., object], arguments: Mapping[str, object]) -> None:
    """Raise InputError (HF129) for arguments that the function does not take, lacks, or wants of another type.

    Only numbers, text, booleans and None can be written down for the pods.
    """
    taken = inspect.signature(fn).parameters
    named = [name for name, p in taken.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    wanted = _annotations(fn)
    wrong: dict[str, tuple[str, str, str]] = {}
    for name, value in arguments.items():
        kind = type(value).__name__
        if not isinstance(value, _PLAIN):
            wrong[name] = (f"is of type {kind}, which cannot be written down", kind, "a number, text, boolean or None")
        elif name not in named and not takes_any:
            wrong[name] = ("is not among its arguments", name, f"one of {', '.join(named)}" if named else "no argument")
        elif not _fits(wanted.get(name, typing.Any), value):
            wrong[name] = ("is of the wrong type", f"{kind} {value!r}", _shown(wanted[name]))
    for name in named:
        if taken[name].default is inspect.Parameter.empty and name not in arguments:
            wrong[name] = ("is missing", "nothing", f"hf.function({fn.__name__}, {name}=...)")
    if wrong:
        spans = keyword_spans(user_frame())
        raise InputError(
            Finding(
                code="HF129",
                message=f"argument {name!r} of function {fn.__name__!r} {problem}",
                where=f"hf.function({fn.__name__})",
                got=got,
                expected=expected,
                hint=(nearest(name, named) if name not in named else "")
                or "give arguments as the function declares them",
                span=spans.get(name) or spans.get(""),
            )
            for name, (problem, got, expected) in wrong.items()
        )


def _annotations(fn: Callable[..., object]) -> dict[str, typing.Any]:
    """What the signature says; nothing where a name in it means nothing here."""
    try:
        return typing.get_type_hints(fn)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}


def _fits(wanted: typing.Any, value: object) -> bool:
    """Whether the value is of the annotated type: a whole number is a float too, and True is no number."""
    if wanted is typing.Any:
        return True
    origin = typing.get_origin(wanted) or wanted
    if origin in (typing.Union, types.UnionType):
        return any(_fits(one, value) for one in typing.get_args(wanted))
    if origin is typing.Literal:
        return any(value == one and type(value) is type(one) for one in typing.get_args(wanted))
    if origin in (int, float) and isinstance(value, bool):
        return False
    return not isinstance(origin, type) or isinstance(value, (int, float) if origin is float else origin)


def _shown(wanted: typing.Any) -> str:
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)


def _names_of_body(fn: types.FunctionType) -> set[str]:
    """Names that the function, or a function inside it, takes from the module or from a function around it."""
    loaded: set[str] = set(fn.__code__.co_freevars)
    stored = {fn.__name__, *_GIVEN}
    for code in _codes(fn.__code__):
        own = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL" or (step.opname == "LOAD_NAME" and step.argval not in own):
                loaded.add(str(step.argval))
            elif step.opname == "STORE_GLOBAL":
                stored.add(str(step.argval))
    return loaded - stored


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names_of_defaults(definition: ast.FunctionDef) -> set[str]:
    """Names in default values, which are worked out when the pod reads the definition."""
    defaults = [*definition.args.defaults, *filter(None, definition.args.kw_defaults)]
    names = [node for default in defaults for node in ast.walk(default) if isinstance(node, ast.Name)]
    return {n.id for n in names} - {n.id for n in names if isinstance(n.ctx, ast.Store)} - _GIVEN


def _relative_imports(definition: ast.FunctionDef) -> set[str]:
    imports = [node for node in ast.walk(definition) if isinstance(node, ast.ImportFrom) and node.level]
    return {"." * node.level + (node.module or node.names[0].name) for node in imports}


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    others = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *others]


def _cannot_pack(fn: Callable[..., object], reason: str) -> InputError:
    name = getattr(fn, "__name__", repr(fn))
    return InputError(
        Finding(
            code="HF116",
            message=f"cannot pack {name!r}: {reason}",
            where=f"hf.function({name})",
            got=name,
            expected="a function defined with def in a file or a notebook cell",
            hint="define it with def, or use hf.torchrun with a script in the image",
            span=keyword_spans(user_frame()).get(""),
        )
    )
