import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { PlatformClient } from '../../src/platform/client.ts';
import { createClient } from '../../src/platform/http-client.ts';
import { webhookRecord } from '../../src/platform/records/webhook-records.ts';
import { Transport } from '../../src/platform/transport.ts';
import { type Discovery, discover, type KnownId } from '../../src/runs/discover.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { Secret } from '../../src/values/value.ts';

/** A workspace that people created in the dashboard, and a temporary folder. */
export class UnmanagedWorkspace implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly client: PlatformClient;
  readonly folder: string;

  constructor(emulator: Emulator, folder: string) {
    this.emulator = emulator;
    this.folder = folder;
    this.client = this.connect();
  }

  connect(workspaceId = this.emulator.workspaceId): PlatformClient {
    const transport = new Transport({
      baseUrl: this.emulator.url,
      apiKey: new Secret('KEY', 'the-api-key'),
      concurrency: 8,
      requestsPerSecond: null,
      timeoutSeconds: 10,
      wait: async () => undefined,
    });
    return createClient({ transport, workspaceId });
  }

  /** Creates an agent with these fields and returns its id. */
  async agent(body: JsonObject, { publish = false } = {}): Promise<string> {
    const { id } = await this.client.agents.create(body);
    if (publish) this.emulator.dashboard.publishAgent(id);
    return id;
  }

  async webhook(body: JsonObject & { readonly url: string }): Promise<string> {
    return (await this.client.collection('webhooks', webhookRecord).create(body)).id;
  }

  async number(number: string, link: JsonObject = {}): Promise<string> {
    const { id } = await this.client.numbers.create({ number });
    this.emulator.dashboard.linkNumber(id, link);
    return id;
  }

  discover(known: readonly KnownId[] = [], since = new Date(0)): Promise<Discovery> {
    const { client, emulator } = this;
    return discover({ client, workspaceId: emulator.workspaceId, concurrency: 4, known, since });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.emulator.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function unmanagedWorkspace(behaviour: BehaviourPatch = {}): Promise<UnmanagedWorkspace> {
  const folder = await mkdtemp(path.join(tmpdir(), 'voxform-whole-'));
  return new UnmanagedWorkspace(await startEmulator({ seed: 1, behaviour }), folder);
}

export function known(kind: string, ...ids: readonly string[]): KnownId[] {
  return ids.map((id) => ({ kind, id, clause: 'it was named' }));
}
