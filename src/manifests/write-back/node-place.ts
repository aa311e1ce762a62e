import type { DocumentPath } from '../finding.ts';
import type { TextSource } from './text-source.ts';

/** Where a node stands, as far as that decides how it can be written. */
export interface NodePlace {
  readonly source: TextSource;
  readonly path: DocumentPath;
  readonly flow: boolean;
  /** Of the key or dash that the node belongs to, in block style. */
  readonly column: number;
  /** Where a value on the same line as its key or dash may begin: behind the colon or the dash. */
  readonly lead: number;
  /** True where the node is an item of a block list. */
  readonly isItem: boolean;
}
