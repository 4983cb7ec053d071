"""Every public name is documented, truly: examples run, and what is documented is what is there."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
from functools import cache
from importlib.util import find_spec

import numpydoc.docscrape as numpydoc
import pytest
from numpydoc.validate import validate

import vjcascade

CHECKS = {
    "GL03",  # double blank lines
    "GL06",  # unknown section
    "GL07",  # sections in another order
    "GL08",  # no docstring
    "GL10",  # directive without ::
    "SS01",  # no summary
    "SS03",  # summary without period
    "SS05",  # summary not in the imperative
    "SS06",  # summary longer than a line
    "PR04",  # parameter without type
    "PR07",  # parameter without description
    "PR10",  # no space before the colon
}


def module_names():
    found = pkgutil.walk_packages(vjcascade.__path__, "vjcascade.")
    names = ["vjcascade", *(info.name for info in found if not info.name.endswith("__main__"))]
    if find_spec("sklearn") is None:  # without the extra, this room cannot be entered
        names = [name for name in names if not name.startswith("vjcascade.estimators")]
    return names


def is_public(name):
    return not any(part.startswith("_") for part in name.split("."))


def plain(thing):
    """Return the Python function of a kernel, method or property."""
    thing = getattr(thing, "py_func", thing)  # numba
    if isinstance(thing, property):
        thing = thing.fget
    return inspect.unwrap(getattr(thing, "__func__", thing))


@cache
def public_things():
    """Return {dotted name: object} of all public functions, classes and methods, where they are defined."""
    found = {}
    for module_name in filter(is_public, module_names()):
        module = importlib.import_module(module_name)
        for name, thing in vars(module).items():
            if not is_public(name) or getattr(plain(thing), "__module__", None) != module_name:
                continue
            if inspect.isclass(thing):
                found[f"{module_name}.{name}"] = thing
                for member_name, member in vars(thing).items():
                    if is_public(member_name) and inspect.isfunction(plain(member)):
                        found[f"{module_name}.{name}.{member_name}"] = member
            elif inspect.isfunction(plain(thing)):
                found[f"{module_name}.{name}"] = thing
    return found


NAMES = sorted(public_things())


def speaks_for_itself(name):
    """Tell whether a name is a function, but no kernel (it has IN and OUT comments) and no override (see its base)."""
    owner, member = public_things().get(name.rpartition(".")[0]), name.rpartition(".")[2]
    is_override = inspect.isclass(owner) and any(hasattr(base, member) for base in owner.__mro__[1:])
    is_function = inspect.isfunction(plain(public_things()[name]))
    return is_function and not is_override and not name.startswith("vjcascade.kernels.")


def section_names(thing, section):
    """Return the names that a section of a docstring documents."""
    kind = numpydoc.ClassDoc if inspect.isclass(thing) else numpydoc.FunctionDoc
    parameters = kind(thing)[section]
    return [name.strip().lstrip("*") for parameter in parameters for name in parameter.name.split(",")]


def parameter_names(function):
    return [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]


def test_something_is_looked_at():
    assert len(NAMES) > 150
    assert {
        "vjcascade.training.mining.mining.mine_negatives",
        "vjcascade.kernels.stump.least_on_line",
        "vjcascade.cascade.Cascade.with_stage",
        "vjcascade.cascade.Cascade.n_stages",
        "vjcascade.types.Size.parse",
    } <= set(NAMES)


@pytest.mark.parametrize("name", module_names())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples may write files
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_form():
    """All names in one test, here and below: thousands of tests would take longer than what they do."""
    problems = {name: errors for name in NAMES if (errors := form_errors(public_things()[name], name))}
    assert problems == {}


def form_errors(thing, name):
    found = validate(name if not hasattr(thing, "py_func") else numpydoc_of(thing))
    return [f"{code}: {text}" for code, text in found["errors"] if code in CHECKS]


def numpydoc_of(kernel):
    return numpydoc.get_doc_object(kernel.py_func)


def test_what_is_documented_is_there():
    """A Parameters section names all parameters, in order; a dataclass documents its fields or says whose they are."""
    assert [name for name in NAMES if not documents_what_is_there(public_things()[name])] == []


def documents_what_is_there(thing):
    if not inspect.isclass(thing):
        return section_names(plain(thing), "Parameters") in ([], parameter_names(plain(thing)))
    if dataclasses.is_dataclass(thing):
        public = [field.name for field in dataclasses.fields(thing) if is_public(field.name)]
        documented = attribute_names(thing)
        return documented == public or (not documented and "fields are those of `" in thing.__doc__)
    if inspect.isfunction(vars(thing).get("__init__")) and not is_protocol(thing):
        kinds = documented_kinds(thing)
        return parameter_names(thing) in [section_names(kind, "Parameters") for kind in kinds]
    return True


def test_nothing_is_left_out():
    """Three parameters need a section, and a function with such a section says what it returns."""
    names = [name for name in NAMES if speaks_for_itself(name)]
    assert len(names) > 100
    assert [name for name in names if leaves_out(plain(public_things()[name]))] == []


def leaves_out(function):
    documented = section_names(function, "Parameters")
    if not documented:
        return len(parameter_names(function)) >= 3
    sections = numpydoc.FunctionDoc(function)
    returns = inspect.signature(function).return_annotation not in {None, "None"}
    return returns and not (sections["Returns"] or sections["Yields"])


def documented_kinds(thing):
    """Return a class, and its base where that documents the parameters for both."""
    own = section_names(thing, "Parameters")
    return [thing] if own else thing.__mro__[:2]


def is_protocol(thing):
    return getattr(thing, "_is_protocol", False)


def attribute_names(thing):
    """Return what the Attributes section of the docstring itself documents."""
    text = inspect.cleandoc(thing.__doc__ or "")
    documented = numpydoc.NumpyDocString(text)["Attributes"]
    return [name.strip() for parameter in documented for name in parameter.name.split(",")]
