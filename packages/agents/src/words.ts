/** Words that say nothing about a task. Phrases are matched with them, single words without. */
const STOP = new Set(
  (
    'a an and any are as at be been before being but by can could did do does done each every for from get gets go ' +
    'had has have he her here his how i if in into is it its just let like may me might must my need needs no not of ' +
    'on only or other our out over please shall she should so some such than that the their them then there these ' +
    'they this those to too under up us use used uses using very via want wants was we were what when where which ' +
    'while who why will with would you your agent agents task tasks thing things expert experts help helps new ' +
    'specialist specialists work works working worked write writes writing written'
  ).split(' '),
);

/** One word of a text. */
export interface Word {
  readonly text: string;
  readonly stem: string;
  /** It says something about the task. */
  readonly telling: boolean;
  /** No telling word comes before it in its sentence: the verb of "Review the tests" is one. */
  readonly leads: boolean;
}

/** The words of a text in English, in order, with the endings taken off that carry no meaning here. */
export function words(text: string): Word[] {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[’']s\b/g, '')
    .split(/[.!?:;\n](?=\s|$)/)
    .flatMap((sentence) => {
      let first = true;
      return (sentence.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => {
        const telling = !STOP.has(word);
        const leads = telling && first;
        if (telling) first = false;
        return { text: word, stem: stem(word), telling, leads };
      });
    });
}

/** The telling words of a text, each once. */
export const vocabulary = (text: string): Set<string> =>
  new Set(words(text).flatMap(({ stem: found, telling }) => (telling ? [found] : [])));

const hasVowel = (text: string): boolean => /[aeiouy]/.test(text);

/**
 * Light: `tests`, `tested` and `testing` are one word, `investigate` and `investigation` are; `tester` is another.
 * It need not be right, only the same for both sides.
 */
function stem(word: string): string {
  if (word.length < 4) return word;
  let rest = word.replace(/ies$/, 'y').replace(/(ss|x|ch|sh|z)es$/, '$1');
  if (/[^sui]s$/.test(rest)) rest = rest.slice(0, -1);
  const ending = /(?:ing|ed)$/.exec(rest);
  if (ending && ending.index >= 3 && hasVowel(rest.slice(0, ending.index)))
    rest = rest.slice(0, ending.index).replace(/([^aeioulsz])\1$/, '$1');
  const noun = /(?:ation|ate|at)$/.exec(rest);
  if (noun && noun.index >= 4) rest = rest.slice(0, noun.index);
  return rest.length > 3 ? rest.replace(/e$/, '').replace(/y$/, 'i') : rest;
}
