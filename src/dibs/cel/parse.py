"""Tokens → tree: precedence climbing, macros expanded on the way, every depth bounded.

Limits are upstream's: expressions nest 250 deep, operators and selections 250 in one line, and
the text has at most 100 000 code points. `&&` and `||` are free: their chains become balanced
trees. A fault of grammar ends the parse; others (reserved names, bad literals, macros) do not.
Source: the CEL specification, "syntax".
"""

from __future__ import annotations

import re

from dibs.cel import lex, literals, macros, stack
from dibs.cel.ast import (
    Call,
    Entry,
    FieldEntry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Message,
    Node,
    Select,
)
from dibs.cel.faults import CompileError, Fault, Source, Span
from dibs.cel.lex import Token

MOST_CHARACTERS = 100_000
MOST_NESTED = 250

RELATIONS = frozenset(("<", "<=", ">", ">=", "==", "!=", "in"))
_BINDING = {**dict.fromkeys(RELATIONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_RESERVED = re.compile(
    "as|break|const|continue|else|false|for|function|if|import|in|let|loop|package|namespace"
    "|null|return|true|var|void|while"
)
_OPENING = frozenset(("(", "[", "{", "?"))


def parse(text: str) -> Node:
    """Parse an expression. Raises `CompileError` with every fault found."""
    if len(text) > MOST_CHARACTERS:
        size = f"expression code point size exceeds limit: size: {len(text)}, limit 100000"
        raise CompileError((Fault(size),), text)
    source = Source(text)
    tokens, faults = lex.tokens(source)
    nesting = sum(token.kind in _OPENING for token in tokens)
    stack.allow(min(nesting, MOST_NESTED + 1) * 8)
    parser = _Parser(source, tokens, faults)
    node = parser.whole()
    if parser.faults:
        parser.faults.sort(key=lambda fault: fault.span.start if fault.span else -1)
        raise CompileError(tuple(parser.faults), text)
    assert node is not None
    return node


class _Stop(Exception):
    """A fault after which there is no going on."""


class _Parser:
    """One pass over the tokens. `deep` is how many operators lie above the last node's leaves."""

    def __init__(self, source: Source, tokens: list[Token], faults: list[Fault]) -> None:
        self.source = source
        self.tokens = tokens
        self.faults = faults
        self.at = 0
        self.token = tokens[0]
        self.numbers = macros.Numbers()
        self.nested = 0
        self.deep = 0

    def whole(self) -> Node | None:
        try:
            node = self.expression()
            if self.token.kind != "end":
                # A second operand is "extraneous", anything else "mismatched"; both are here.
                self.unexpected("<EOF>")
        except _Stop:
            return None
        return node

    # --- tokens -------------------------------------------------------------------------------

    def advance(self) -> Token:
        token = self.token
        self.at += 1
        if self.at < len(self.tokens):
            self.token = self.tokens[self.at]
        return token

    def accept(self, kind: str) -> Token | None:
        return self.advance() if self.token.kind == kind else None

    def expect(self, kind: str) -> Token:
        if self.token.kind != kind:
            self.unexpected(f"'{kind}'" if kind != "word" else "IDENTIFIER")
        return self.advance()

    def unexpected(self, wanted: str) -> None:
        token = self.token
        text = f"Syntax error: mismatched input '{token.text}' expecting {wanted}"
        self.fault(text, token.start, Span(token.start, max(token.end, token.start)), True)
        raise _Stop

    def fault(self, text: str, at: int, span: Span, is_syntax: bool = False) -> None:
        self.faults.append(self.source.fault(text, at, span, is_syntax=is_syntax))

    def too_deep(self, text: str) -> None:
        self.faults.append(Fault(text))
        raise _Stop

    # --- operators ----------------------------------------------------------------------------

    def expression(self) -> Node:
        self.nested += 1
        if self.nested > MOST_NESTED:
            self.too_deep(f"expression recursion limit exceeded: {MOST_NESTED}")
        condition = self.chain("||")
        if question := self.accept("?"):
            deep = self.deep
            truthy = self.chain("||")
            deep = max(deep, self.deep)
            self.expect(":")
            falsy = self.expression()
            self.deep = max(deep, self.deep)
            condition = self.call("_?_:_", question, [condition, truthy, falsy], condition, falsy)
        self.nested -= 1
        return condition

    def chain(self, operator: str) -> Node:
        """`a || b || c` or `a && b && c`, as a balanced tree."""
        node = self.chain("&&") if operator == "||" else self.binary(1)
        if self.token.kind != operator:
            return node
        terms, spots, deep = [node], [], self.deep
        while spot := self.accept(operator):
            spots.append(spot)
            terms.append(self.chain("&&") if operator == "||" else self.binary(1))
            deep = max(deep, self.deep)
        self.deep = deep
        return self.balanced(f"_{operator}_", terms, spots, 0, len(spots) - 1)

    def balanced(
        self, function: str, terms: list[Node], spots: list[Token], low: int, high: int
    ) -> Node:
        middle = (low + high + 1) // 2
        left, right = terms[middle], terms[middle + 1]
        if middle != low:
            left = self.balanced(function, terms, spots, low, middle - 1)
        if middle != high:
            right = self.balanced(function, terms, spots, middle + 1, high)
        return self.call(function, spots[middle], [left, right], left, right)

    def binary(self, least: int) -> Node:
        left = self.unary()
        while (binding := _BINDING.get(self.token.kind, 0)) >= least:
            operator, deep = self.advance(), self.deep
            right = self.binary(binding + 1)
            self.deepen(max(deep, self.deep))
            name = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = self.call(name, operator, [left, right], left, right)
        return left

    def deepen(self, deep: int) -> None:
        self.deep = deep + 1
        if self.deep > MOST_NESTED:
            self.too_deep("max recursion depth exceeded")

    def unary(self) -> Node:
        kind = self.token.kind
        if kind != "!" and kind != "-":
            return self.member()
        if kind == "-" and self.tokens[self.at + 1].kind in ("int", "float"):
            return self.member()
        first, count = self.advance(), 1
        while self.token.kind == kind:
            self.advance()
            count += 1
        node = self.member()
        if count % 2 == 0:
            return node
        return self.call(f"{kind}_", first, [node], None, node)

    def call(
        self, function: str, spot: Token, args: list[Node], first: Node | None, last: Node
    ) -> Node:
        start = first.span.start if first else spot.start
        return self.placed_call(function, None, args, spot.start, Span(start, last.span.end))

    def placed_call(
        self, function: str, target: Node | None, args: list[Node], at: int, span: Span
    ) -> Node:
        return Call(function, target, args, id=self.numbers.next(), at=at, span=span)

    # --- selections, indexes and calls ----------------------------------------------------------

    def member(self) -> Node:
        node = self.primary()
        while True:
            if dot := self.accept("."):
                node = self.selection(node, dot)
            elif bracket := self.accept("["):
                node = self.index(node, bracket)
            else:
                return node

    def selection(self, operand: Node, dot: Token) -> Node:
        deep = self.deep
        question = self.accept("?")
        name = self.accept("escaped") if self.token.kind == "escaped" else self.expect("word")
        assert name is not None
        if name.kind == "escaped":
            self.fault("unsupported syntax: '`'", name.start, Span(name.start, name.end))
        span = Span(operand.span.start, name.end)
        if question:
            self.deepen(deep)
            key = self.literal(name.text, name)
            return self.placed_call("_?._", None, [operand, key], dot.start, span)
        if opening := self.accept("("):
            args = self.arguments(")")
            end = self.expect(")").end
            self.deepen(max(deep, self.deep))
            span = Span(operand.span.start, end)
            return self.invoked(name.text, operand, args, opening, span)
        self.deepen(deep)
        return Select(operand, name.text, id=self.numbers.next(), at=dot.start, span=span)

    def index(self, operand: Node, bracket: Token) -> Node:
        deep = self.deep
        function = "_[?_]" if self.accept("?") else "_[_]"
        key = self.expression()
        end = self.expect("]").end
        self.deepen(max(deep, self.deep))
        span = Span(operand.span.start, end)
        return self.placed_call(function, None, [operand, key], bracket.start, span)

    def arguments(self, closing: str) -> list[Node]:
        args: list[Node] = []
        deep = 0
        if self.token.kind != closing:
            args.append(self.expression())
            deep = self.deep
            while self.accept(","):
                args.append(self.expression())
                deep = max(deep, self.deep)
        self.deep = deep
        return args

    def invoked(
        self, name: str, target: Node | None, args: list[Node], opening: Token, span: Span
    ) -> Node:
        call = Call(name, target, args, id=self.numbers.next(), at=opening.start, span=span)
        try:
            return macros.expand(self.numbers, call) or call
        except macros.BadMacro as bad:
            self.fault(bad.message, bad.spot.at, bad.spot.span)
            return call

    # --- what an expression starts with -----------------------------------------------------------

    def primary(self) -> Node:
        token = self.token
        kind = token.kind
        if kind == "word" or kind == ".":
            return self.named()
        self.deep = 0
        match kind:
            case "int" | "uint" | "float" | "string" | "bytes" | "-":
                return self.constant()
            case "true" | "false" | "null":
                self.advance()
                return self.literal({"true": True, "false": False}.get(kind), token)
            case "(":
                self.advance()
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return self.list_literal()
            case "{":
                return self.map_literal()
        self.unexpected("an operand")
        raise AssertionError

    def constant(self) -> Node:
        first = self.token
        sign = "-" if self.accept("-") else ""
        token = self.advance()
        text = sign + token.text
        value: object = None
        try:
            match token.kind:
                case "int":
                    value = literals.integer(text)
                case "uint":
                    value = literals.unsigned(text)
                case "float":
                    value = literals.double(text)
                case "string":
                    value = literals.string(text)
                case _:
                    value = literals.byte_string(text)
        except literals.BadLiteral as bad:
            self.fault(str(bad), first.start, Span(first.start, token.end))
        span = Span(first.start, token.end)
        return Literal(value, id=self.numbers.next(), at=first.start, span=span)

    def literal(self, value: object, token: Token) -> Literal:
        span = Span(token.start, token.end)
        return Literal(value, id=self.numbers.next(), at=token.start, span=span)

    def named(self) -> Node:
        """An identifier, a call of a global function, or a message."""
        start = self.token.start
        dot = "." if self.accept(".") else ""
        if opening := self.message_opening():
            return self.message(start, dot, opening)
        word = self.expect("word")
        if _RESERVED.fullmatch(word.text):
            text = f"reserved identifier: {word.text}"
            self.fault(text, word.start, Span(word.start, word.end))
        self.deep = 0
        if opening := self.accept("("):
            args = self.arguments(")")
            span = Span(start, self.expect(")").end)
            return self.invoked(dot + word.text, None, args, opening, span)
        span = Span(start, word.end)
        return Ident(dot + word.text, id=self.numbers.next(), at=word.start, span=span)

    def message_opening(self) -> Token | None:
        """Look ahead over `a.b.c` for the `{` that makes it a message."""
        at, tokens = self.at, self.tokens
        while tokens[at].kind == "word":
            following = tokens[at + 1]
            if following.kind == "{":
                return following
            if following.kind != ".":
                return None
            at += 2
        return None

    def message(self, start: int, dot: str, opening: Token) -> Node:
        name = dot
        while self.token is not opening:
            name += self.advance().text
        self.advance()
        fields: list[FieldEntry] = []
        deep = 0
        while self.token.kind in ("word", "?", "escaped"):
            is_optional = self.accept("?") is not None
            word = self.advance()
            if word.kind == "escaped":
                self.fault("unsupported syntax: '`'", word.start, Span(word.start, word.end))
            elif word.kind != "word":
                self.at -= 1
                self.token = word
                self.unexpected("IDENTIFIER")
            colon = self.expect(":")
            value = self.expression()
            deep = max(deep, self.deep)
            span = Span(word.start, value.span.end)
            number = self.numbers.next()
            fields.append(
                FieldEntry(word.text, value, is_optional, id=number, at=colon.start, span=span)
            )
            if not self.accept(","):
                break
        else:
            self.accept(",")
        end = self.expect("}").end
        self.deep = deep
        return Message(
            name, fields, id=self.numbers.next(), at=opening.start, span=Span(start, end)
        )

    def list_literal(self) -> Node:
        opening = self.advance()
        elements: list[Node] = []
        optional: set[int] = set()
        deep = 0
        while self.token.kind not in ("]", ","):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            deep = max(deep, self.deep)
            if not self.goes_on("]"):
                break
        self.accept(",")
        span = Span(opening.start, self.expect("]").end)
        self.deep = deep
        number = self.numbers.next()
        return ListNode(elements, frozenset(optional), id=number, at=opening.start, span=span)

    def goes_on(self, closing: str) -> bool:
        """Take the comma between two parts of a literal; leave one that only trails."""
        if self.token.kind != "," or self.tokens[self.at + 1].kind == closing:
            return False
        self.advance()
        if self.token.kind == ",":
            self.unexpected(f"'{closing}'")
        return True

    def map_literal(self) -> Node:
        opening = self.advance()
        entries: list[Entry] = []
        deep = 0
        while self.token.kind not in ("}", ","):
            is_optional = self.accept("?") is not None
            key = self.expression()
            deep = max(deep, self.deep)
            colon = self.expect(":")
            value = self.expression()
            deep = max(deep, self.deep)
            span = Span(key.span.start, value.span.end)
            entries.append(
                Entry(key, value, is_optional, id=self.numbers.next(), at=colon.start, span=span)
            )
            if not self.goes_on("}"):
                break
        self.accept(",")
        span = Span(opening.start, self.expect("}").end)
        self.deep = deep
        return MapNode(entries, id=self.numbers.next(), at=opening.start, span=span)
