/** The maximum number of alternatives of a glob, such as two of `*.{yaml,yml}`. */
const MAX_ALTERNATIVES = 200;
const MAX_LENGTH = 500;

/** A `*`, or the test of one character. A test for one particular character has a `literal`. */
type Token = typeof STAR | { readonly literal?: string; matches(character: string): boolean };

/** The tokens of a segment, or `**`. */
type Segment = typeof GLOBSTAR | readonly Token[];

const STAR = Symbol('*');
const GLOBSTAR = Symbol('**');

interface GlobOptions {
  /** True if wildcards match a leading dot. */
  readonly dot?: boolean;
}

/**
 * Returns a function that tells whether a text matches any of these globs. Knows `*`, `**`, `?`, `[abc]`, `{a,b}`, `@(a|b)`, `\` and a
 * leading `!`. The time is bounded by the product of both lengths: unlike a regular expression, no glob of a project that is not trusted
 * can block the process.
 */
export function globMatcher(globs: readonly string[], { dot = false }: GlobOptions = {}): (text: string) => boolean {
  const matchers = globs.map((glob) => matcherOf(glob, dot));
  return (text) => matchers.some((matches) => matches(text));
}

/** Removes a leading `./`. */
export function withoutDotSlash(glob: string): string {
  return glob.replace(/^(\.\/+)+/, '');
}

/** Returns the reason why a glob cannot be used, if any. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_LENGTH) return `expected a glob of at most ${MAX_LENGTH} characters`;
  if (/(?<![\\@])\(|(?<!\\)[\])}][+?]/.test(glob))
    return 'expected a glob of *, **, ?, [abc] and {a,b}; a \\ before other brackets';
  return expand(glob) === undefined ? `expected a glob with at most ${MAX_ALTERNATIVES} alternatives` : undefined;
}

function matcherOf(glob: string, dot: boolean): (text: string) => boolean {
  const [negations = ''] = /^!*/.exec(glob) ?? [];
  const isNegated = negations.length % 2 === 1;
  const alternatives = (expand(glob.slice(negations.length)) ?? []).map(segmentsOf);
  return (text) => {
    const parts = text.split('/');
    return alternatives.some((segments) => matchesPath(segments, parts, dot)) !== isNegated;
  };
}

/** Returns the globs without groups that a glob stands for; undefined if there are too many. */
function expand(glob: string): readonly string[] | undefined {
  const group = firstGroup(glob);
  if (group === undefined) return [glob];
  const rest = expand(glob.slice(group.end));
  const own: string[] = [];
  for (const option of group.options) {
    const expanded = expand(option);
    if (rest === undefined || expanded === undefined) return undefined;
    own.push(...expanded);
    if (own.length * rest.length > MAX_ALTERNATIVES) return undefined;
  }
  return own.flatMap((each) => (rest ?? []).map((tail) => glob.slice(0, group.start) + each + tail));
}

interface Group {
  readonly start: number;
  /** The position after the group. */
  readonly end: number;
  readonly options: readonly string[];
}

/** Finds the first `{a,b}`, `{a..b}` or `@(a|b)`. */
function firstGroup(glob: string): Group | undefined {
  for (let at = 0; at < glob.length; at = afterCharacter(glob, at)) {
    const open = glob[at] === '{' ? at : glob.startsWith('@(', at) ? at + 1 : undefined;
    const group = open === undefined ? undefined : groupAt(glob, at, open);
    if (group !== undefined) return group;
  }
  return undefined;
}

function groupAt(glob: string, start: number, open: number): Group | undefined {
  const [close, separator] = glob[open] === '{' ? ['}', ','] : [')', '|'];
  const closers = [close];
  const options: string[] = [];
  let begin = open + 1;
  for (let at = begin; at < glob.length; at = afterCharacter(glob, at)) {
    const character = glob[at];
    if (character === '{') closers.push('}');
    else if (character === '(') closers.push(')');
    else if (character === closers.at(-1)) closers.pop();
    const isEnd = closers.length === 0;
    if (!isEnd && (closers.length > 1 || character !== separator)) continue;
    options.push(glob.slice(begin, at));
    begin = at + 1;
    if (!isEnd) continue;
    const [, first, last] = /^(\w)\.\.(\w)$/.exec(options.join()) ?? [];
    if (first !== undefined) return { start, end: begin, options: [`[${first}-${last}]`] };
    return options.length > 1 || close === ')' ? { start, end: begin, options } : undefined;
  }
  return undefined;
}

/** Returns the position after a character, an escaped character or a class. */
function afterCharacter(glob: string, at: number): number {
  if (glob[at] === '\\') return at + 2;
  return classAt(glob, at)?.end ?? at + 1;
}

/** Parses a class such as `[a-z]` or `[^abc]`. */
function classAt(glob: string, at: number): { readonly end: number; readonly token: Token } | undefined {
  const [text, negation, content = ''] = /^\[(\^?)(\]?(?:\\.|[^\]\\/])*)\]/s.exec(glob.slice(at)) ?? [];
  if (text === undefined || content === '') return undefined;
  const ranges = [...content.matchAll(/(?:\\(.)|(.))(?:-(?:\\(.)|([^\]])))?/gs)].map(([, a, b, c, d]) => {
    const first = a ?? b ?? '';
    return [first, c ?? d ?? first] as const;
  });
  const isIn = (character: string): boolean => ranges.some(([first, last]) => first <= character && character <= last);
  return { end: at + text.length, token: { matches: (character) => isIn(character) === (negation === '') } };
}

function segmentsOf(glob: string): readonly Segment[] {
  const segments: Token[][] = [[]];
  let stars = 0;
  const globstars = new Set<Token[]>();
  for (let at = 0; at < glob.length; ) {
    const segment = segments.at(-1) ?? [];
    const character = glob[at] ?? '';
    const found = classAt(glob, at);
    stars = character === '*' ? stars + 1 : 0;
    if (character === '/') segments.push([]);
    else if (character === '*') {
      if (segment.at(-1) !== STAR) segment.push(STAR);
      if (stars === 2) globstars.add(segment);
    } else if (character === '?') segment.push({ matches: () => true });
    else if (found !== undefined) segment.push(found.token);
    else {
      const literal = (character === '\\' ? glob[at + 1] : undefined) ?? character;
      segment.push({ literal, matches: (other) => other === literal });
    }
    at = afterCharacter(glob, at);
  }
  const all = segments.map((segment) => (segment.length === 1 && globstars.has(segment) ? GLOBSTAR : segment));
  // A final `**` matches what is in a folder, not the folder.
  return all.length > 1 && all.at(-1) === GLOBSTAR ? [...all, [STAR]] : all;
}

function matchesPath(segments: readonly Segment[], parts: readonly string[], dot: boolean): boolean {
  const isHidden = (part: string): boolean => !dot && part.startsWith('.');
  return matchesSequence(segments, parts, {
    isStar: (segment) => segment === GLOBSTAR,
    mayTake: (part) => !isHidden(part),
    matches(segment, part) {
      if (segment === GLOBSTAR) return false;
      const [first] = segment;
      if (isHidden(part) && (first === undefined || first === STAR || first.literal !== '.')) return false;
      return matchesSequence(segment, part, {
        isStar: (token) => token === STAR,
        mayTake: () => true,
        matches: (token, character) => token !== STAR && token.matches(character),
      });
    },
  });
}

interface SequenceRules<Item> {
  /** True for an item that matches any number of elements. */
  isStar(item: Item): boolean;
  /** True for an element that a star matches. */
  mayTake(element: string): boolean;
  matches(item: Item, element: string): boolean;
}

/** Matches elements against items. Only the last star needs to be tried again, because it can take what an earlier star could. */
function matchesSequence<Item>(
  items: readonly Item[],
  elements: ArrayLike<string>,
  { isStar, mayTake, matches }: SequenceRules<Item>,
): boolean {
  let at = 0;
  let star: { readonly item: number; readonly element: number } | undefined;
  for (let element = 0; element < elements.length; ) {
    const item = items[at];
    if (item !== undefined && isStar(item)) {
      star = { item: at++, element };
    } else if (item !== undefined && matches(item, elements[element] ?? '')) {
      at++;
      element++;
    } else if (star !== undefined && mayTake(elements[star.element] ?? '')) {
      star = { ...star, element: star.element + 1 };
      at = star.item + 1;
      element = star.element;
    } else return false;
  }
  return items.slice(at).every(isStar);
}
