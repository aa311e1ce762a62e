import { UserError } from '../problems/user-error.ts';

/** Thrown if the API key belongs to a workspace other than the configured one. No further writes are allowed. */
export class ForeignRecord extends UserError {
  override readonly name = 'ForeignRecord';

  constructor(message: string) {
    super(message, {
      hint: 'Check workspace_id and api_key of the selected workspace. The API key determines the workspace.',
    });
  }
}

/** Returns the error for a record of another workspace that was requested by id. */
export function foreignRecord(
  record: string,
  { actual, workspaceId }: { readonly actual: string; readonly workspaceId: string },
): ForeignRecord {
  return new ForeignRecord(`the ${record} belongs to workspace ${actual}, but this run is for ${workspaceId}`);
}

/** A record that may contain its workspace id. */
export interface WithWorkspaceId {
  readonly id: string | number;
  readonly workspace_id?: unknown;
}

/** Tracks the workspaces of the records that a client has read, because a key may have access to several workspaces. */
export class WorkspaceCheck {
  readonly workspaceId: string;
  #own = 0;
  #foreign = 0;
  /** The workspaces of foreign records, by record id. */
  readonly #workspaces = new Map<string, string>();

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId;
  }

  /** The number of records of other workspaces that were read. */
  get foreign(): number {
    return this.#foreign;
  }

  /** Counts a record. Returns true if it belongs to the workspace or contains no workspace id. */
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
  get firstForeign(): { readonly id: string; readonly workspaceId: string } | undefined {
    const [first] = this.#workspaces;
    return first === undefined ? undefined : { id: first[0], workspaceId: first[1] };
  }

  /** Returns the workspace of a foreign record. */
  workspaceOf(id: string): string | undefined {
    return this.#workspaces.get(id);
  }

  /**
   * Must be called before the records are used.
   * @throws ForeignRecord if all records with a workspace id belong to other workspaces.
   */
  refuseWrongWorkspace(): void {
    if (this.#own > 0 || this.firstForeign === undefined) return;
    const { id, workspaceId: actual } = this.firstForeign;
    const records = this.#foreign === 1 ? id : `each of the ${this.#foreign} records read, such as ${id},`;
    throw new ForeignRecord(
      `${records} belongs to workspace ${actual}, but this run is for ${this.workspaceId}; nothing was written`,
    );
  }
}

/** The maximum number of foreign records that are remembered. There may be millions of streamed calls. */
const MAX_REMEMBERED = 500_000;
