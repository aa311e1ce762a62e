import {
  type Document,
  type DocumentOptions,
  type LineCounter,
  type ParseOptions,
  parseAllDocuments,
  type SchemaOptions,
} from 'yaml';

/**
 * How every YAML file is read: YAML 1.2 with merge keys, text keys and no tags beyond the core ones. Duplicate keys are
 * found by `plain-value.ts`, because the parser's own check takes quadratic time.
 */
export const yamlOptions = {
  version: '1.2',
  schema: 'core',
  merge: true,
  stringKeys: true,
  uniqueKeys: false,
  resolveKnownTags: false,
  prettyErrors: false,
  logLevel: 'error',
} as const satisfies ParseOptions & DocumentOptions & SchemaOptions;

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
