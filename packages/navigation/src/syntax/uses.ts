/** Right before a name that is used, not defined, and right after one. */
const BEFORE =
  /(?:[.(:<|&=+!?>[-]|\b(?:new|extends|implements|instanceof|typeof|return|throw|case|in|of|await|yield|void|delete|keyof|as|is|default))$/;
const AFTER = /^\s*[.)\]]|^\[/;
const PASSED = /^\s*(?:import|export)\b[^'"]*\bfrom\s*['"]/;
/** Nobody passes more on in one line: all of a minified file is one. */
const LONGEST_PASSED = 2_000;

/**
 * Whether a name at a place of JavaScript or TypeScript is a use of it for certain, seen from its line alone. Whatever may
 * define it (a member, a variable, a function) is none; that is for the parser to say.
 */
export function isUse(row: string, column: number, name: string): boolean {
  return (
    AFTER.test(row.slice(column - 1 + name.length)) ||
    // The end of it is enough, for no word is as long, and much faster.
    BEFORE.test(
      row
        .slice(0, column - 1)
        .trimEnd()
        .slice(-20),
    ) ||
    (column <= LONGEST_PASSED && PASSED.test(row.slice(0, LONGEST_PASSED)))
  );
}
