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

/** The error for a record that was requested by id. */
export function foreignRecord(
  what: string,
  { actual, workspaceId }: { readonly actual: string; readonly workspaceId: string },
): ForeignRecord {
  return new ForeignRecord(`the ${what} belongs to workspace ${actual}, but this run is for ${workspaceId}`);
}

/** A record that may contain its workspace id. */
export interface WithWorkspaceId {
  readonly id: string | number;
  readonly workspace_id?: unknown;
}

/**
 * Tracks the workspaces of the records that a client has read. The API does not document which workspaces a key can access: there may be
 * several.
 */
export class WorkspaceCheck {
  readonly workspaceId: string;
  #own = 0;
  #foreign = 0;
  /** By id: the workspaces of foreign records, which are not checked again elsewhere. */
  readonly #workspaces = new Map<string, string>();

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId;
  }

  /** The number of records of other workspaces that were read. */
  get foreign(): number {
    return this.#foreign;
  }

  /** Counts a record. True if it belongs to the workspace, or contains no workspace id. */
  admits(record: object): boolean {
    const { id, workspace_id: actual } = record as Partial<WithWorkspaceId>;
    if (typeof actual !== 'string') return true;
    if (actual === this.workspaceId) {
      this.#own += 1;
      return true;
    }
    this.#foreign += 1;
    if (this.#workspaces.size < MAX_REMEMBERED) this.#workspaces.set(String(id), actual);
    return false;
  }

  /** The first record of another workspace. */
  get elsewhere(): { readonly id: string; readonly workspaceId: string } | undefined {
    const [first] = this.#workspaces;
    return first === undefined ? undefined : { id: first[0], workspaceId: first[1] };
  }

  /** The other workspace that a record belongs to. */
  workspaceOf(id: string): string | undefined {
    return this.#workspaces.get(id);
  }

  /**
   * Must be called before the records are used.
   * @throws ForeignRecord if all records with a workspace id belong to other workspaces.
   */
  refuseWrongWorkspace(): void {
    if (this.#own > 0 || this.elsewhere === undefined) return;
    const { id, workspaceId: actual } = this.elsewhere;
    const which = this.#foreign === 1 ? id : `each of the ${this.#foreign} records read, such as ${id},`;
    throw new ForeignRecord(
      `${which} belongs to workspace ${actual}, but this run is for ${this.workspaceId}; nothing was written`,
    );
  }
}

/** The maximum size of a list in memory; streamed calls may be millions. */
const MAX_REMEMBERED = 500_000;
