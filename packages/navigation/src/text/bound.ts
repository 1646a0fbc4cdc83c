import type { Brackets } from './brackets.ts';

const NEAR = 60;
const FAR = 300;

/**
 * Whether a name at a place is used there for certain, and not bound anew as a variable, a parameter, a type parameter or a member
 * is. What is around it tells: a word or sign before it that only a value or a type follows, what follows it, and the bracket that it
 * stands in. A member of that name (`other.name`) binds nothing either, unless it is a namespace, which has its name within.
 */
export function isBound(brackets: Brackets, at: number, name: string): boolean {
  const { text } = brackets;
  const end = at + name.length;
  const next = text[end];
  if (next === '.' && text[end + 1] !== '.') return true;
  const before = brackets.behind(at);
  if (/(?:^|[^.])\.$/.test(before))
    return !/\b(?:namespace|module)\s[\w$.\s]*$/.test(text.slice(Math.max(0, at - FAR), at));
  if (/\b(?:new|instanceof|extends|implements|typeof|keyof|satisfies|is)\s+$/.test(before)) return true;
  if (next === '(' && isCalled(brackets, before, end)) return true;
  const after = text.slice(end, end + NEAR);
  // The parameter of an arrow function, or the type of what it returns.
  if (/^\s*=>/.test(after)) return isReturned(brackets, at);
  if (isOperand(before, after)) return true;
  if (/\bas\s+$/.test(before)) return isCast(brackets, at, after);
  if (/[<,]\s*$/.test(before) && isTyped(brackets, at)) return true;
  return isTag(before, after) || isUsedIn(brackets, { from: at, to: end });
}

const OPERATED =
  /(?:[^=]=|[=!]==?|=>|\b(?:return|await|throw|yield|case|of|default)|[\w$)\]]\s+in|[|&?!~^%+-]|@|\$\{)\s*$/;
const OPERATES = /^(?:\[|[ \t]*(?:[|&+\-%^]|[=!]==?|\?[.?]|(?:instanceof|satisfies)\b)|\s*\)\s*[.)\]])/;
/** No pattern: only a name has such a word before it and a type behind it. */
const ANNOTATED =
  /\b(?:const|let|var|readonly|private|protected|public|static|declare|override)\s+[\w$]+[?!]?\s*:\s*$/;

/** What is calculated, chosen, assigned or annotated: only a value or a type stands there. */
function isOperand(before: string, after: string): boolean {
  if (OPERATED.test(before) || OPERATES.test(after)) return true;
  // In a pattern, as in `{ key: name }`, it would go on or end there.
  return /:\s*$/.test(before) && (/^\s*[;)[\]<|&{>]/.test(after) || ANNOTATED.test(before));
}

const DEFINED = /(?:\b(?:function|async|get|set|static|public|private|protected|abstract|override)|\*)\s*$/;

/** Parentheses follow, and neither a body nor a type behind them, as where a method is defined. */
function isCalled(brackets: Brackets, before: string, open: number): boolean {
  if (DEFINED.test(before)) return false;
  if (OPERATED.test(before) || /[([]\s*$/.test(before)) return true;
  const close = brackets.closing(open);
  return close !== null && !/^\s*[{:]/.test(ahead(brackets.text, close + 1));
}

/** `(…): name =>`, and no choice (`a ? (b) : name => …`). */
function isReturned(brackets: Brackets, at: number): boolean {
  const closed = /\)\s*:\s*$/.exec(brackets.behind(at));
  const open = closed && brackets.opening(at - closed[0].length);
  return open?.sign === '(' && /(?:[=(,:>[]|\b(?:async|return|default))\s*$/.test(brackets.behind(open.at));
}

/** `value as name`, and not `{ value as name }` of an import or an export. */
function isCast(brackets: Brackets, at: number, after: string): boolean {
  if (/^\s*[;)[\]<|&?:=]/.test(after)) return true;
  const sign = brackets.opening(at)?.sign;
  return sign === '(' || sign === '[';
}

const LISTED = String.raw`[\w$.,\s|&[\]'"]*`;
/** `Of<name`, `Of<string, name` where a type stands; what has parameters of its own is none of these. */
const ARGUMENT = new RegExp(
  String.raw`(?:(?:[:|&=]\s*|\b(?:new|extends|implements|as|is)\s+)(?!(?:function|async|class)\b)[A-Za-z_$][\w$.]*|\.[\w$]+)<(?:${LISTED}<)*${LISTED}$`,
);
const HERITAGE = /\bimplements\s[\w$.,\s<>|&[\]]*,\s*$/;

function isTyped({ text, hasTypes }: Brackets, at: number): boolean {
  if (!hasTypes) return false;
  const before = text.slice(Math.max(0, at - FAR), at);
  return ARGUMENT.test(before) || HERITAGE.test(before);
}

/** An element, or `<name>` before a value. Parameters of a type stand behind its name, or before parentheses. */
const isTag = (before: string, after: string): boolean =>
  /(?:[=(,:?&|[{>;}]|\b(?:return|default|yield))\s*<\/?$/.test(before) &&
  /^(?:\s*\/?>(?!\s*\()|\s+(?!extends\b|in\b|out\b)[\w$])/.test(after);

interface Part {
  readonly from: number;
  readonly to: number;
}

/** Nobody writes more within each other. */
const MOST_LEVELS = 6;

/** Whether what stands in a bracket is part of a value or a type, and not of a pattern, of parameters or of a list of names. */
function isUsedIn(brackets: Brackets, { from, to }: Part, level = 0): boolean {
  const sign = /[(,[{:](?=(?:\s*\.\.\.)?\s*$)/.exec(brackets.behind(from))?.[0];
  const open = sign === undefined || level > MOST_LEVELS ? null : brackets.opening(from);
  const after = ahead(brackets.text, to).trimStart();
  const next = after[0] ?? '';
  // Parameters of types have no brackets of their own here.
  if (!open || /^(?:extends\b|>)/.test(after)) return false;
  const isTyped = sign === ':';
  if (open.sign === ';') return isTyped;
  if (open.sign === '(')
    return isTyped || isGiven(brackets, open.at, { isListed: sign === ',' || /[,:?]/.test(next) });
  if (open.sign === '[') return isTyped || (/[,\]]/.test(next) && isInList(brackets, open.at, level));
  return /[,}]/.test(next) && isInBraces(brackets, { open: open.at, isTyped, level });
}

/** `{ name }` of a value is a member too: it leads to the name, and no further. */
export function isShorthand(brackets: Brackets, at: number, name: string): boolean {
  const { text } = brackets;
  if (!/[{,]\s*$/.test(brackets.behind(at)) || !/^\s*[,}]/.test(ahead(text, at + name.length))) return false;
  return brackets.opening(at)?.sign === '{';
}

const CALLED = String.raw`[\w$.]+(?:<[^<>()]*>)?\s*$`;
/** Before parentheses in which no parameters are declared. */
const CALLS = new RegExp(String.raw`(?:@[\w$]+|\.[\w$]+(?:<[^<>()]*>)?)\s*$|\bnew\s+${CALLED}`);
/** Likewise; but a method may be called so too, and has parameters. */
const CONDITION = /\b(?:if|while|switch)\s*$/;
/** Likewise, if nothing but the end of a statement or of a part follows. */
const CALLS_WITHIN = new RegExp(
  String.raw`(?:[=([!&|?:+-]|=>|\b(?:await|return|throw|yield|typeof|void|case|of|in|else)\b)\s*${CALLED}`,
);

/** In parentheses: an argument, or a value that is grouped, and no parameter. Behind those is a body, a type or an arrow, or nothing. */
function isGiven(brackets: Brackets, open: number, { isListed }: { readonly isListed: boolean }): boolean {
  const before = brackets.behind(open);
  if (CALLS.test(before) || (CONDITION.test(before) && !isListed)) return true;
  if (/\bfor(?:\s+await)?\s*$/.test(before)) return false;
  const close = brackets.closing(open);
  if (close === null) return false;
  const after = ahead(brackets.text, close + 1);
  if (/^(?:\s*[.)\]&|?]|[ \t]*[[(`+\-*%!])/.test(after)) return true;
  return /^\s*[,;}]/.test(after) && CALLS_WITHIN.test(before);
}

/** Before a bracket that begins a value or a type. */
const VALUED =
  /(?:(?:^|[^=!<>])=|=>|[<|&?]|\b(?:return|of|in|yield|await|extends|as|is|case|throw|default|satisfies|keyof))\s*$/;

/** In `[…]`: of an array, a tuple or an index, and no pattern. */
function isInList(brackets: Brackets, open: number, level: number): boolean {
  const { text } = brackets;
  const close = brackets.closing(open);
  if (close === null) return false;
  const before = brackets.behind(open);
  const after = ahead(text, close + 1);
  if (/(?:[\w$)\]]|\?\.)$/.test(before) && !/\b(?:const|let|var|using)$/.test(before)) return true;
  if (/^\s*(?:=(?!=)|(?:of|in)\b)/.test(after)) return false;
  if (/^\s*[.;]|^[[(]/.test(after) || VALUED.test(before)) return true;
  if (/,\s*$/.test(before) && isTyped(brackets, open)) return true;
  // What is calculated for a key is a value.
  if (/^\s*:/.test(after) && /[{,;]\s*$/.test(before) && isKey(brackets, open)) return true;
  return isUsedIn(brackets, { from: open, to: close + 1 }, level + 1);
}

function isKey(brackets: Brackets, open: number): boolean {
  const sign = brackets.opening(open)?.sign;
  return sign === '{' || sign === ';';
}

/** In `{…}`: a value or a type of an object, or what a member is said to be, and no pattern. */
function isInBraces(
  brackets: Brackets,
  { open, isTyped, level }: { readonly open: number; readonly isTyped: boolean; readonly level: number },
): boolean {
  const { text } = brackets;
  const before = brackets.behind(open);
  const close = brackets.closing(open);
  if (close === null || /^\s*=(?![=>])/.test(ahead(text, close + 1))) return false;
  // No key of a pattern ends with a parenthesis: it is a type, or one of two values.
  if ((VALUED.test(before) && !before.trimEnd().endsWith('=>')) || /\)\s*:\s*$/.test(before)) return true;
  if (/[:,([]\s*$/.test(before)) return isUsedIn(brackets, { from: open, to: close + 1 }, level + 1);
  // The body of a class, an interface or a function.
  return (
    isTyped &&
    /[\w$)>;}]\s*$/.test(before) &&
    !/\b(?:const|let|var|using|import|export|type)\s*$/.test(before)
  );
}

const ahead = (text: string, at: number): string => text.slice(at, at + NEAR);
