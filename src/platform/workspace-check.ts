import { UserError } from '../problems/user-error.ts';

/** The API key is for another workspace than the project: nothing more may be written. */
export class ForeignRecord extends UserError {
  override readonly name = 'ForeignRecord';

  constructor(message: string) {
    super(message, {
      hint: 'Check workspace_id and api_key of the selected workspace: the platform picks the workspace by the key.',
    });
  }
}

/** The error for a record that was asked for by its id. */
export function foreignRecord(
  what: string,
  { actual, workspaceId }: { readonly actual: string; readonly workspaceId: string },
): ForeignRecord {
  return new ForeignRecord(`the ${what} belongs to workspace ${actual}, but this run is for ${workspaceId}`);
}

/** A record that may say which workspace it belongs to. */
export interface OfWorkspace {
  readonly id: string | number;
  readonly workspace_id?: unknown;
}

/** Which workspaces the records belong to that a client has read. What a key may see is not documented: it may be several. */
export class WorkspaceCheck {
  readonly workspaceId: string;
  #own = 0;
  #foreign = 0;
  /** The workspaces of the foreign records that are not looked at again elsewhere, by id. */
  readonly #workspaces = new Map<string, string>();

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId;
  }

  /** How many records of other workspaces were read, in lists and one by one. */
  get foreign(): number {
    return this.#foreign;
  }

  /** Counts a record. True where it belongs to the workspace, or does not say. */
  admits(record: object): boolean {
    const { id, workspace_id: actual } = record as Partial<OfWorkspace>;
    if (typeof actual !== 'string') return true;
    if (actual === this.workspaceId) {
      this.#own += 1;
      return true;
    }
    this.#foreign += 1;
    if (this.#workspaces.size < MOST_REMEMBERED) this.#workspaces.set(String(id), actual);
    return false;
  }

  /** The first record that was seen in another workspace. */
  get elsewhere(): { readonly id: string; readonly workspaceId: string } | undefined {
    const [first] = this.#workspaces;
    return first === undefined ? undefined : { id: first[0], workspaceId: first[1] };
  }

  /** The other workspace that a record was seen in. */
  workspaceOf(id: string): string | undefined {
    return this.#workspaces.get(id);
  }

  /**
   * Call it before using what was read.
   * @throws ForeignRecord if all records with a workspace belong to other ones.
   */
  refuseWrongWorkspace(): void {
    const [first] = this.#workspaces;
    if (this.#own > 0 || first === undefined) return;
    const [id, actual] = first;
    const which = this.#foreign === 1 ? id : `each of the ${this.#foreign} records read, such as ${id},`;
    throw new ForeignRecord(
      `${which} belongs to workspace ${actual}, but this run is for ${this.workspaceId}; nothing was written`,
    );
  }
}

/** As many as a list in memory may have; streamed calls may be millions. */
const MOST_REMEMBERED = 500_000;
