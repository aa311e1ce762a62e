import {
  type Document,
  type DocumentOptions,
  type LineCounter,
  type ParseOptions,
  parseAllDocuments,
  type SchemaOptions,
} from 'yaml';

/**
 * Options for all YAML files: YAML 1.2 with merge keys, text keys and core tags only. `plain-value.ts` detects duplicate keys, because
 * the parser's own check takes quadratic time.
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
 * The parser looks up an environment variable for each token, to print it. The lookup takes a third of its time, and a variable must not
 * change our output, so the parser gets an empty environment.
 */
const NO_ENVIRONMENT: NodeJS.ProcessEnv = Object.freeze(Object.create(null) as NodeJS.ProcessEnv);

/** The documents of a YAML or JSON text. @throws RangeError if the nesting exhausts the parser's stack. */
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
