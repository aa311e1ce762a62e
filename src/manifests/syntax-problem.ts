import { CST, Lexer, type YAMLError } from 'yaml';
import { didYouMeanOneOf } from '../problems/suggest.ts';
import { lineAndColumn } from './read-file.ts';

interface SyntaxProblem {
  readonly message: string;
  readonly offset: number;
}

/** Each explanation scans the file, so the number of explanations is limited. */
const MAX_EXPLAINED = 100;

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}' };

/** Locates the mistake behind a parser error. The parser reports an unclosed quote or bracket only where parsing stopped. */
export class SyntaxProblems {
  readonly #text: string;
  #tokens: readonly Token[] | undefined;
  #explained = 0;

  constructor(text: string) {
    this.#text = text;
  }

  explain(error: YAMLError): SyntaxProblem {
    const [offset] = error.pos;
    if (this.#explained++ === MAX_EXPLAINED) this.#tokens = [];
    this.#tokens ??= [...tokensOf(this.#text)];
    const begin = this.#tokens.findLastIndex((token) => token.offset <= offset && token.source === '---') + 1;
    const tokens = this.#tokens.slice(begin);
    return this.#quote(tokens, offset) ?? this.#bracket(tokens, error) ?? this.#line(tokens, error);
  }

  #quote(tokens: readonly Token[], until: number): SyntaxProblem | undefined {
    for (const [index, { type, source, offset }] of tokens.entries()) {
      if (offset > until) return undefined;
      if (type !== 'quoted') continue;
      if (!isClosed(source)) return { message: 'unclosed quote', offset };
      const end = offset + source.length;
      const after = tokens[index + 1];
      const next = after !== undefined && /^[ \t]+$/.test(after.source) ? tokens[index + 2] : after;
      if (next?.type !== 'plain' && !(next?.type === 'quoted' && next.offset === end)) continue;
      if (source.includes('\n')) {
        const line = lineAndColumn(this.#text, end).line;
        return {
          message: `unclosed quote: text follows the next quote, on line ${line}`,
          offset,
        };
      }
      const escaped = source.startsWith('"') ? '\\"' : "''";
      return {
        message: `unexpected text after the closing quote; write ${escaped} for a quote inside the string`,
        offset: next.offset,
      };
    }
    return undefined;
  }

  #bracket(tokens: readonly Token[], { pos: [at], message, code }: YAMLError): SyntaxProblem | undefined {
    const open: Token[] = [];
    for (const token of tokens) {
      if (token.offset >= at) break;
      if (token.type !== 'mark') continue;
      if (token.source in CLOSING) open.push(token);
      else if (token.source === ']' || token.source === '}') open.pop();
    }
    const opener = open.at(-1);
    if (opener === undefined) return undefined;
    if (/^Flow (map|sequence) .*end with/.test(message)) {
      return this.#tab(at) ?? this.#unclosed(opener, tokens, at);
    }
    if (code === 'MULTILINE_IMPLICIT_KEY') {
      return isEnded(opener, tokens)
        ? { message: 'missing comma after the value', offset: at }
        : { message: `unclosed ${opener.source}`, offset: opener.offset };
    }
    if (message.startsWith('Missing , ')) return { message: 'missing comma before this value', offset: at };
    return undefined;
  }

  #unclosed(opener: Token, tokens: readonly Token[], at: number): SyntaxProblem {
    const { source, offset } = opener;
    const foundMark = tokens.find((token) => token.offset >= at && token.type === 'mark')?.source;
    const isNext = foundMark !== undefined && this.#text.startsWith(foundMark, at);
    if (isNext && foundMark === CLOSING[source]) {
      const line = lineAndColumn(this.#text, offset).line;
      return { message: `${foundMark} must be indented more than line ${line}, which opens it`, offset: at };
    }
    const instead =
      isNext && /^[\]}]$/.test(foundMark)
        ? `: ${foundMark} on line ${lineAndColumn(this.#text, at).line} does not close it`
        : '';
    return { message: `unclosed ${source}${instead}`, offset };
  }

  #line(tokens: readonly Token[], { pos: [at], message, code }: YAMLError): SyntaxProblem {
    const rest = this.#text.slice(at, at + 200);
    if (code === 'TAB_AS_INDENT') return this.#tab(at) ?? { message: TAB, offset: at };
    if (/^Unexpected flow-(seq|map)-end/.test(message)) {
      return { message: `unexpected ${rest.charAt(0)}: no bracket is open`, offset: at };
    }
    if (code === 'BAD_SCALAR_START') {
      return { message: `a value that begins with ${rest.charAt(0)} must be in quotes`, offset: at };
    }
    if (/^All \w+ items must start at the same column/.test(message)) {
      const offset = at + (/^ */.exec(rest)?.[0].length ?? 0);
      return this.#tab(at) ?? { message: 'wrong indentation: no line above starts at this column', offset };
    }
    if (code === 'BLOCK_AS_IMPLICIT_KEY' && message.startsWith('Nested mappings')) {
      const colon = tokens.find(({ offset, source }) => offset > at && source === ':')?.offset ?? at;
      const start = this.#text.lastIndexOf('\n', colon) + 1;
      if (start <= at) {
        const form = /^\$\w+: *\S+/.exec(rest)?.[0];
        const message = `a value that contains ": " must be in quotes${form === undefined ? '' : didYouMeanOneOf([`{ ${form} }`])}`;
        return { message, offset: at };
      }
      const offset = start + (/^[ \t]*/.exec(this.#text.slice(start, colon))?.[0].length ?? 0);
      return (
        this.#tab(start) ?? {
          message: `wrong indentation: line ${lineAndColumn(this.#text, at).line} already has a value`,
          offset,
        }
      );
    }
    if (code === 'MULTILINE_IMPLICIT_KEY' || message.startsWith('Implicit map keys')) {
      const withoutSpace = /^[\w$.-]+:(?=[^\s/])/.exec(rest);
      if (withoutSpace !== null)
        return { message: 'missing space after the colon', offset: at + withoutSpace[0].length - 1 };
      return { message: 'no colon on this line; expected "key: value"', offset: at };
    }
    const flow = message.startsWith('Unexpected scalar at node end') && this.#unquotedString(tokens, at);
    if (flow) return flow;
    if (/^Block scalar/.test(message)) {
      const tab = this.#tab(at) ?? this.#tab(this.#text.indexOf('\n', at) + 1);
      if (tab !== undefined) return tab;
    }
    const text = message.replace(/\s+/g, ' ').replace(/[.\s]+$/, '');
    return { message: `not valid YAML: ${text}`, offset: at };
  }

  /** Explains a string without quotes that begins like a list or an object. */
  #unquotedString(tokens: readonly Token[], at: number): SyntaxProblem | undefined {
    let depth = 0;
    for (const { type, source, offset } of tokens.filter((token) => token.offset < at).reverse()) {
      if (type !== 'mark') continue;
      if (source === ']' || source === '}') depth++;
      else if (source in CLOSING && --depth === 0)
        return {
          message: `a string that begins with ${source} must be in quotes; to insert a value into a string, use $join`,
          offset,
        };
    }
    return undefined;
  }

  /** Reports a tab in the indentation of the line at this offset. */
  #tab(at: number): SyntaxProblem | undefined {
    const start = this.#text.lastIndexOf('\n', at - 1) + 1;
    const indentation = /^[ \t]*/.exec(this.#text.slice(start, start + 1000))?.[0] ?? '';
    const tab = indentation.indexOf('\t');
    return tab === -1 ? undefined : { message: TAB, offset: start + tab };
  }
}

const TAB = 'the indentation contains a tab; YAML allows only spaces';

/** Returns true if a quoted string has its closing quote. */
function isClosed(source: string): boolean {
  const body = source.slice(1);
  if (source.startsWith("'")) return (/'*$/.exec(body.slice(-1000))?.[0].length ?? 0) % 2 === 1;
  return body.endsWith('"') && (/\\*$/.exec(body.slice(-1000, -1))?.[0].length ?? 0) % 2 === 0;
}

/** Returns true if the bracket is closed before the end of its flow collection. */
function isEnded(opener: Token, tokens: readonly Token[]): boolean {
  let depth = 0;
  for (const { type, source } of tokens.slice(tokens.indexOf(opener))) {
    if (type === 'early-end') return false;
    if (type !== 'mark') continue;
    if (source in CLOSING) depth++;
    else if (source === ']' || source === '}') depth--;
    if (depth === 0) return true;
  }
  return false;
}

interface Token {
  readonly source: string;
  readonly offset: number;
  /** A token of type `early-end` is the end of an incomplete flow collection. Its source is empty. */
  readonly type: 'plain' | 'quoted' | 'space' | 'comment' | 'early-end' | 'mark';
}

export function* tokensOf(text: string): Generator<Token> {
  let offset = 0;
  let isScalar = false;
  for (const source of new Lexer().lex(text)) {
    if (isScalar) yield { source, offset, type: 'plain' };
    else if (source === CST.FLOW_END) yield { source: '', offset, type: 'early-end' };
    else if (/^["']/.test(source)) yield { source, offset, type: 'quoted' };
    else if (source.startsWith('#')) yield { source, offset, type: 'comment' };
    else if (/^\s+$/.test(source)) yield { source, offset, type: 'space' };
    else if (source !== CST.SCALAR && source !== CST.DOCUMENT) yield { source, offset, type: 'mark' };
    isScalar = !isScalar && source === CST.SCALAR;
    // These tokens are not in the text. The lexer adds them before scalars and documents, and where a flow collection ends early.
    if (isScalar || source === CST.DOCUMENT || source === CST.FLOW_END) continue;
    offset += source.length;
  }
}
