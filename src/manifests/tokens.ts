import { CST, Lexer } from 'yaml';

/** A piece of a YAML text, as the parser's lexer takes it apart. */
export interface Token {
  readonly source: string;
  readonly offset: number;
  /** Where a flow ends early there is no text. */
  readonly type: 'plain' | 'quoted' | 'blank' | 'comment' | 'early-end' | 'mark';
}

export function* tokensOf(text: string): Generator<Token> {
  let offset = 0;
  let isScalar = false;
  for (const source of new Lexer().lex(text)) {
    if (isScalar) yield { source, offset, type: 'plain' };
    else if (source === CST.FLOW_END) yield { source: '', offset, type: 'early-end' };
    else if (/^["']/.test(source)) yield { source, offset, type: 'quoted' };
    else if (source.startsWith('#')) yield { source, offset, type: 'comment' };
    else if (/^\s+$/.test(source)) yield { source, offset, type: 'blank' };
    else if (source !== CST.SCALAR && source !== CST.DOCUMENT) yield { source, offset, type: 'mark' };
    isScalar = !isScalar && source === CST.SCALAR;
    // The lexer puts these in of itself: a scalar follows, a document begins, a flow ends early.
    if (isScalar || source === CST.DOCUMENT || source === CST.FLOW_END) continue;
    offset += source.length;
  }
}
