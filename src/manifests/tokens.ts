import { CST, Lexer } from 'yaml';

export interface Token {
  readonly source: string;
  readonly offset: number;
  /** The end of an incomplete flow has no text. */
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
    // Tokens that the lexer adds: before a scalar or a document, and at the end of an incomplete flow.
    if (isScalar || source === CST.DOCUMENT || source === CST.FLOW_END) continue;
    offset += source.length;
  }
}
