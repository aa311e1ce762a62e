import { readFile, rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { writeBeside } from '../files/drafts.ts';
import { UserError } from '../problems/user-error.ts';
import { isObject } from '../values/json.ts';
import { openKey, SEALED_FORMAT_VERSION, seal, sealedText, unseal } from './sealing.ts';
import { storedSchemas } from './stored-records.ts';
import type { World, WorldData } from './world.ts';

/** Of the content; one that is not sealed, as it once was written, has it in the file itself. */
const FORMAT_VERSION = 1;
/** Pause between two writes of the file, in milliseconds: many changes in a row cost few writes. */
const PAUSE = 100;

const dataFile: z.ZodType<WorldData & { readonly format_version: 1 }> = z.strictObject({
  format_version: z.literal(FORMAT_VERSION),
  workspace_id: z.string().min(1),
  sequence: z.strictObject({ time: z.int(), drawn: z.int().min(0) }),
  records: z.strictObject({
    agents: z.array(storedSchemas.agents),
    numbers: z.array(storedSchemas.numbers),
    'knowledge-bases': z.array(storedSchemas['knowledge-bases']),
    calls: z.array(storedSchemas.calls),
    webhooks: z.array(storedSchemas.webhooks),
    users: z.array(storedSchemas.users),
    invoices: z.array(storedSchemas.invoices),
    'api-keys': z.array(storedSchemas['api-keys']),
  }),
});

/**
 * The world kept in a file, sealed or not; undefined where there is no such file. Changes nothing.
 * @throws UserError for a file that is none of ours, and for a seal that cannot be opened.
 */
export async function loadWorldData(path: string): Promise<WorldData | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  const content = parsed(text, path);
  if (!isObject(content) || content.format_version !== SEALED_FORMAT_VERSION) {
    return fitting(dataFile, content, path);
  }
  const opened = await unseal(fitting(sealedText, content, path), path);
  return fitting(dataFile, parsed(opened, path), path);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged(path, 'not JSON');
  }
}

function fitting<T>(schema: z.ZodType<T>, content: unknown, path: string): T {
  const checked = schema.safeParse(content);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw damaged(path, `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unexpected content'}`);
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new UserError(`cannot read the emulator's data file ${path}: ${String(error)}`, { cause: error });
  }
}

function damaged(path: string, why: string): UserError {
  return new UserError(`${path} is not an emulator's data file: ${why}`, {
    hint: 'Use another file, or move this one away to start with an empty workspace.',
  });
}

/**
 * Keeps a world in a file, sealed with the key beside it. Changes are gathered and written shortly after; `close` writes what is still open, and rejects with
 * a UserError when the last write failed.
 */
export class DataFile {
  readonly #path: string;
  readonly #world: World;
  readonly #key: Buffer;
  readonly #closing = new AbortController();
  #isDirty = false;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** Writes the world as it is, so that a path that cannot be written shows at once, and then after each change. */
  static async open(path: string, world: World): Promise<DataFile> {
    const file = new DataFile(path, world, await openKey(path));
    await file.#write();
    return file;
  }

  private constructor(path: string, world: World, key: Buffer) {
    this.#path = path;
    this.#world = world;
    this.#key = key;
    world.onWrite = () => this.#noteChange();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  #noteChange(): void {
    this.#isDirty = true;
    this.#writing ??= this.#writeChanges();
  }

  async #writeChanges(): Promise<void> {
    while (this.#isDirty) {
      await sleep(PAUSE, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      this.#isDirty = false;
      try {
        await this.#write();
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
      }
    }
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    const content = JSON.stringify({ format_version: FORMAT_VERSION, ...this.#world.toData() });
    try {
      await writeAtomically(this.#path, `${JSON.stringify(seal(content, this.#key), null, 1)}\n`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new UserError(`cannot write the emulator's data file ${this.#path}: ${why}`, { cause: error });
    }
  }
}

/** Either the old content or the new is there at any instant. Only the owner may read it. */
async function writeAtomically(path: string, text: string): Promise<void> {
  const draft = await writeBeside(path, text);
  try {
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
