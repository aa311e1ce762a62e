import { IdsAndClock, type Seed, type SequencePoint } from './ids-and-clock.ts';
import { type CollectionName, eachCollection, type Stored, type StoredNumber } from './stored-records.ts';

export interface WorldData {
  readonly workspace_id: string;
  readonly sequence: SequencePoint;
  readonly records: { readonly [Name in CollectionName]: readonly Stored<Name>[] };
}

interface WorldOptions {
  readonly workspaceId: string;
  readonly seed?: Seed | undefined;
  readonly data?: WorldData | undefined;
}

type WorldRecords = { readonly [Name in CollectionName]: Map<string, Stored<Name>> };

/** The records of one workspace. A change must replace the record; records are never mutated. */
export class World {
  readonly workspaceId: string;
  readonly sequence: IdsAndClock;
  /** The records of all collections, by collection and id. */
  readonly records: WorldRecords;
  readonly agents: WorldRecords['agents'];
  readonly numbers: WorldRecords['numbers'];
  readonly knowledgeBases: WorldRecords['knowledge-bases'];
  readonly webhooks: WorldRecords['webhooks'];
  readonly users: WorldRecords['users'];
  /** Called at the start of every write. The write finishes before the next turn of the event loop. */
  onWrite: () => void = () => {};
  readonly #readsBefore = new Map<string, number>();
  #numbersByAgent: ReturnType<typeof linksOf> | undefined;

  constructor({ workspaceId, seed, data }: WorldOptions) {
    this.workspaceId = workspaceId;
    this.sequence = new IdsAndClock(seed, data?.sequence);
    this.records = eachCollection<WorldRecords>((name) => byId<{ readonly id: string | number }>(data?.records[name]));
    this.agents = this.records.agents;
    this.numbers = this.records.numbers;
    this.knowledgeBases = this.records['knowledge-bases'];
    this.webhooks = this.records.webhooks;
    this.users = this.records.users;
  }

  /** Hides a new record from the given number of reads. */
  showLater(id: string, reads: number): void {
    if (reads > 0) this.#readsBefore.set(id, reads);
  }

  /** Counts a read of a record. Returns true if the record is still hidden. */
  isHidden(id: string): boolean {
    const remaining = this.#readsBefore.get(id) ?? 0;
    if (remaining > 0) this.#readsBefore.set(id, remaining - 1);
    return remaining > 0;
  }

  /** Begins a write and returns its time in milliseconds since 1970. Must be called once for each change. */
  beginWrite(): number {
    this.#numbersByAgent = undefined;
    this.onWrite();
    return this.sequence.advance();
  }

  /** Begins a write and returns the id, workspace and times of a new record. */
  newRecord(timeText: (milliseconds: number) => string) {
    const now = timeText(this.beginWrite());
    return { id: this.newId(), workspace_id: this.workspaceId, created_at: now, updated_at: now };
  }

  newId(): string {
    return this.sequence.newId();
  }

  /** Returns the numbers that are linked to an agent, in the order of their creation. */
  numbersOf(agentId: string): readonly StoredNumber[] {
    this.#numbersByAgent ??= linksOf(this.numbers.values());
    return this.#numbersByAgent.get(agentId) ?? [];
  }

  toData(): WorldData {
    return {
      workspace_id: this.workspaceId,
      sequence: this.sequence.point,
      records: eachCollection<WorldData['records']>((name) => [...this.records[name].values()]),
    };
  }
}

function byId<T extends { readonly id: string | number }>(records: readonly T[] = []): Map<string, T> {
  return new Map(records.map((record) => [String(record.id), record]));
}

function linksOf(numbers: Iterable<StoredNumber>): ReadonlyMap<string | null, readonly StoredNumber[]> {
  const links = [...numbers].flatMap((number) =>
    [...new Set([number.inbound_agent_id, number.outbound_agent_id])].map((agentId) => ({ agentId, number })),
  );
  const byAgent = Map.groupBy(links, ({ agentId }) => agentId);
  return new Map([...byAgent].map(([agentId, own]) => [agentId, own.map(({ number }) => number)]));
}
