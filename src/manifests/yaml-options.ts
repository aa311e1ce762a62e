import type { DocumentOptions, ParseOptions, SchemaOptions } from 'yaml';

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
