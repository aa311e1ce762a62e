import { IdsAndClock, type Seed, type SequencePoint } from './ids-and-clock.ts';
import type { CollectionName, Stored, StoredNumber } from './stored-records.ts';

/** A world as plain data, as it is kept in the data file. */
export interface WorldData {
  readonly workspace_id: string;
  readonly sequence: SequencePoint;
  readonly records: { readonly [Name in CollectionName]: readonly Stored<Name>[] };
}

export interface WorldOptions {
  readonly workspaceId: string;
  readonly seed?: Seed | undefined;
  readonly data?: WorldData | undefined;
}

type WorldRecords = { readonly [Name in CollectionName]: Map<string, Stored<Name>> };

/** Everything one workspace holds. Records are replaced, never changed in place. */
export class World {
  readonly workspaceId: string;
  readonly sequence: IdsAndClock;
  /** All collections, each by id. */
  readonly records: WorldRecords;
  /** Called at the start of every write; the write itself is over before the next turn of the event loop. */
  onWrite: () => void = () => {};
  readonly #readsBefore = new Map<string, number>();
  #numbersByAgent: ReadonlyMap<string, readonly StoredNumber[]> | undefined;

  constructor({ workspaceId, seed, data }: WorldOptions) {
    this.workspaceId = workspaceId;
    this.sequence = new IdsAndClock(seed, data?.sequence);
    const records = data?.records;
    this.records = {
      agents: byId(records?.agents),
      numbers: byId(records?.numbers),
      'knowledge-bases': byId(records?.['knowledge-bases']),
      calls: byId(records?.calls),
      webhooks: byId(records?.webhooks),
      users: byId(records?.users),
      invoices: byId(records?.invoices),
      'api-keys': byId(records?.['api-keys']),
    };
  }

  /** Hides a new record from so many reads of it. */
  showLater(id: string, reads: number): void {
    if (reads > 0) this.#readsBefore.set(id, reads);
  }

  /** Counts a read of a record; true where the record is still hidden from it. */
  isHidden(id: string): boolean {
    const left = this.#readsBefore.get(id) ?? 0;
    if (left > 0) this.#readsBefore.set(id, left - 1);
    return left > 0;
  }

  get agents(): WorldRecords['agents'] {
    return this.records.agents;
  }

  get numbers(): WorldRecords['numbers'] {
    return this.records.numbers;
  }

  get knowledgeBases(): WorldRecords['knowledge-bases'] {
    return this.records['knowledge-bases'];
  }

  get calls(): WorldRecords['calls'] {
    return this.records.calls;
  }

  get webhooks(): WorldRecords['webhooks'] {
    return this.records.webhooks;
  }

  get users(): WorldRecords['users'] {
    return this.records.users;
  }

  get invoices(): WorldRecords['invoices'] {
    return this.records.invoices;
  }

  get apiKeys(): WorldRecords['api-keys'] {
    return this.records['api-keys'];
  }

  /** Begins a write: the time it happens at, in milliseconds since 1970. Must be called once for each change. */
  beginWrite(): number {
    this.#numbersByAgent = undefined;
    this.onWrite();
    return this.sequence.advance();
  }

  newId(): string {
    return this.sequence.newId();
  }

  /** The numbers that an agent answers or calls from, in the order in which they were registered. */
  numbersOf(agentId: string): readonly StoredNumber[] {
    this.#numbersByAgent ??= linksOf(this.numbers.values());
    return this.#numbersByAgent.get(agentId) ?? [];
  }

  toData(): WorldData {
    return {
      workspace_id: this.workspaceId,
      sequence: this.sequence.point,
      records: {
        agents: [...this.agents.values()],
        numbers: [...this.numbers.values()],
        'knowledge-bases': [...this.knowledgeBases.values()],
        calls: [...this.calls.values()],
        webhooks: [...this.webhooks.values()],
        users: [...this.users.values()],
        invoices: [...this.invoices.values()],
        'api-keys': [...this.apiKeys.values()],
      },
    };
  }
}

function byId<T extends { readonly id: string | number }>(records: readonly T[] = []): Map<string, T> {
  return new Map(records.map((record) => [String(record.id), record]));
}

function linksOf(numbers: Iterable<StoredNumber>): Map<string, StoredNumber[]> {
  const links = new Map<string, StoredNumber[]>();
  for (const number of numbers) {
    for (const agentId of new Set([number.inbound_agent_id, number.outbound_agent_id])) {
      if (agentId === null) continue;
      const linked = links.get(agentId);
      if (linked === undefined) links.set(agentId, [number]);
      else linked.push(number);
    }
  }
  return links;
}
