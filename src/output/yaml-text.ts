import { Document, isScalar, visit } from 'yaml';
import { escapeUnsafe, isUnsafe } from '../values/unsafe-text.ts';

/** Returns a value as YAML that is safe for terminals. Unsafe strings are quoted and escaped, which does not change the value. */
export function yamlText(value: unknown, options: { readonly sortMapEntries?: boolean } = {}): string {
  const document = new Document(value, { ...options, aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && typeof node.value === 'string' && isUnsafe(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeUnsafe(document.toString({ lineWidth: 0 }));
}
