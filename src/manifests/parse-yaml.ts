import { type Document, type LineCounter, parseAllDocuments } from 'yaml';
import { yamlOptions } from './yaml-options.ts';

/**
 * For as long as it parses, the parser finds no environment: it asks there at each token whether to print it. Looking takes a third of
 * its time, and no variable may put a parser's remarks among our results.
 */
const NO_ENVIRONMENT: NodeJS.ProcessEnv = Object.freeze(Object.create(null) as NodeJS.ProcessEnv);

/** The documents of a YAML or JSON text. @throws RangeError where it is nested more deeply than the parser's stack reaches. */
export function parseYaml(
  text: string,
  { lineCounter }: { readonly lineCounter?: LineCounter } = {},
): readonly Document.Parsed[] {
  const { env } = process;
  process.env = NO_ENVIRONMENT;
  try {
    const parsed = parseAllDocuments(text, lineCounter ? { ...yamlOptions, lineCounter } : yamlOptions);
    return 'empty' in parsed ? [] : parsed;
  } finally {
    process.env = env;
  }
}
