"""C++ names as people write them: without namespaces, arguments, or what a template was made for.

What is compared is demangled: "float* eng::make<float>(unsigned long)" is make, eng::make and make<float>.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gdbcuda.text.patterns import pattern

TEMPLATE = pattern(r"<[^<>]*>")
CLONE = pattern(r"( \[clone [^]]*\])+$")
TAG = pattern(r"\[abi:\w+\]")
NAME_START = pattern(r"[A-Za-z_:~]|\(anonymous$")
NAMED_OPERATOR = pattern(  # new, delete[], a conversion: their names have blanks
    r"\boperator\s+(?:(?:const|volatile)\s+)*(?:(?:unsigned|signed|long|short)(?:\s+(?:unsigned|long|short|int|char|double)\b)*"
    r"|[A-Za-z_][\w:]*)(?:\s+const\b)?(?:\[\])?\**"
)
CALL_OPERATOR = pattern(r"\boperator\s*\(\s*\)")
OPERATOR_BEGUN = pattern(r"operator(?:[^\w\s()\[\]]{0,2}|[(\[])$")
OPERATOR = pattern(r"\boperator\b")
IDENTIFIER = pattern(r"[A-Za-z_]\w*")
UNNAMED = "(anonymous namespace)"
HELD = "\0"  # what no name has
LONGEST = 72  # columns of a name in a table
BRACKETS = {"<": ">", "(": ")"}


def is_called(symbol: str, name: str) -> bool:
    """May the function be called so? ``name`` with arguments is one of several overloads."""
    whole, arguments = parts(symbol)
    wanted, its_arguments = parts(name)
    if its_arguments and its_arguments != arguments:
        return False
    pattern = rf"(^|::|[ *&]){re.escape(wanted)}$"
    return bool(wanted) and any(re.search(pattern, one) for one in (whole, without_templates(whole)))


def parts(name: str) -> tuple[str, str]:
    """The name and "(unsigned long)", which is "" where it has none."""
    text = TAG.sub("", name).replace(f"{UNNAMED}::", "").replace(UNNAMED, "")
    called_so = CALL_OPERATOR.search(text)
    rest = text[called_so.end() if called_so else 0 :]
    at = arguments_at(rest)
    head = f"{text[: called_so.start()]}operator(){rest[:at]}" if called_so else rest[:at]
    arguments = rest[at : rest.rfind(")") + 1]
    return re.sub(r"\s*,\s*", ", ", head.strip()), re.sub(r"\s+", "", arguments)


def without_arguments(name: str) -> str:
    """ "(anonymous namespace)::grow(int)" -> "(anonymous namespace)::grow"."""
    if "(" not in name:
        return name
    text = name.replace(UNNAMED, HELD)
    called_so = CALL_OPERATOR.search(text)
    begin = called_so.end() if called_so else 0
    return text[: begin + arguments_at(text[begin:])].replace(HELD, UNNAMED)


def arguments_at(text: str) -> int:
    """Where they begin: what a template was made for may have brackets too, "Kernel<(Isa)16>::step(int)"."""
    open_ones = 0
    for at, letter in enumerate(text):
        if letter == "(" and not open_ones:
            return at
        if letter in "<>()" and not is_of_operator(text, at):
            open_ones += 1 if letter in BRACKETS else -1
    return len(text)


def called(name: str) -> str:
    """ "main" -> "main()"; "Pool::grow(int)" says its arguments itself."""
    return name if parts(name)[1] else f"{name}()"


def without_templates(name: str) -> str:
    while name != (name := TEMPLATE.sub("", name)):
        pass
    return name


def plain(symbol: str) -> str:
    """ "float* eng::make<float>(unsigned long)" -> "eng::make": for completion, where nothing else is begun."""
    name, operator, rest = without_templates(parts(symbol)[0]).partition("operator")
    return name.rpartition(" ")[2].lstrip("*&") + operator + rest


def endings(name: str) -> list[str]:
    """ "eng::Loader::load" -> itself, "Loader::load", "load"."""
    parted = (one for one in re.finditer("::", name) if not depth(name[: one.start()]))
    return [name, *(name[one.end() :] for one in parted)]


def last_identifier(name: str) -> str:
    """It stands in the mangled name too; "" where there is none: an operator has other letters there."""
    found = IDENTIFIER.findall(OPERATOR.split(without_templates(parts(name)[0]))[0])
    return found[-1] if found else ""


def shortened(name: str, most: int = LONGEST) -> str:
    """In so many columns: template lists go first, then arguments, then what a kernel returns and that it has
    arguments, then the middle. PyTorch has names of 11,000."""
    for opening in BRACKETS:
        if len(name) > most:
            name = without_lists(name, opening)
    if len(name) > most:
        name = name.removeprefix("void ")
    if len(name) > most:
        name = name.removesuffix("(...)")
    if len(name) <= most:
        return name
    tail = (most - 3) // 2
    return f"{name[: most - 3 - tail]}...{name[len(name) - tail :]}"


def without_lists(name: str, opening: str) -> str:
    """vector<std::pair<int, float> >::at(unsigned) -> vector<...>::at(unsigned)"""
    closing, found, depth = BRACKETS[opening], [], 0
    name = name.replace(UNNAMED, HELD)  # its brackets are no list's
    for index, letter in enumerate(name):
        is_list = not is_of_operator(name, index)
        if letter == opening and is_list:
            depth += 1
            found.append(f"{opening}...{closing}" if depth == 1 else "")
        elif letter == closing and depth and is_list:
            depth -= 1
        elif not depth:
            found.append(letter)
    return "".join(found).replace(HELD, UNNAMED)


def listed(text: str) -> tuple[str, ...]:
    """ "app,Pool<int,3>::grow" -> app, Pool<int,3>::grow"""
    found = [""]
    for piece in re.split("(,)", text):
        if piece == "," and not depth(found[-1]):
            found.append("")
        else:
            found[-1] += piece
    return tuple(one.strip() for one in found)


def joined(words: Sequence[str]) -> list[str]:
    """What was typed, broken at blanks: "Pool<unsigned long, 3>::grow(int)" is one word, as for gdb's own break."""
    found, rest = list[str](), list(words)
    while rest:
        most = words_of_name(rest)
        found.append(" ".join(rest[:most]))
        del rest[:most]
    return found


def words_of_name(words: Sequence[str], unclosed: int = 1) -> int:
    """How many of them the first name has: until its brackets are closed, and those of "operator new"."""
    if not NAME_START.match(words[0]):
        return 1
    closed = (n for n in range(1, len(words) + 1) if not depth(" ".join(words[:n])))
    most = next(closed, unclosed)
    named = NAMED_OPERATOR.search(" ".join(words)) if OPERATOR.search(words[most - 1]) else None
    return max(most, named.string[: named.end()].count(" ") + 1) if named else most


def begun(text: str) -> str:
    """The name at the end of what was typed, blanks in it too: "grow Pool<unsigned long, 3>::g", "Op::operator n"."""
    if text.count("'") % 2:
        return text[text.rindex("'") :]
    words, first = list(re.finditer(r"\S+", text)), 0
    while first < len(words):
        here = [one[0] for one in words[first:]]
        most = words_of_name(here, len(here))
        if most == len(here):
            name = text[words[first].start() :]
            return name if name == name.rstrip() or depth(name) > 0 or OPERATOR.search(here[-1]) else ""
        first += most
    return ""


def whole(symbol: str) -> str:
    """ "float* eng::make<float>(unsigned long)" -> "eng::make<float>(unsigned long)": without what it returns."""
    text, open_ones, begins = symbol.replace(UNNAMED, HELD), 0, 0
    for at, letter in enumerate(text):
        if letter == "(" and not open_ones and not is_of_operator(text, at):
            break
        if letter == " " and not open_ones and not OPERATOR.search(text[begins:at]):
            begins = at + 1
        elif letter in "<>()" and not is_of_operator(text, at):
            open_ones += 1 if letter in BRACKETS else -1
    return CLONE.sub("", text[begins:]).lstrip("*&").replace(HELD, UNNAMED)


def depth(text: str) -> int:
    """How many brackets are open at its end."""
    plain = [letter for index, letter in enumerate(text) if letter in "<>()" and not is_of_operator(text, index)]
    return sum(map(plain.count, BRACKETS)) - sum(map(plain.count, BRACKETS.values()))


def is_of_operator(name: str, index: int) -> bool:
    """operator<, operator->, operator()"""
    return bool(OPERATOR_BEGUN.search(name[max(0, index - 12) : index])) or name[index - 1 : index + 1] == "->"
