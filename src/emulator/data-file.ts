import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readGivenFile } from '../files/given-file.ts';
import { replaceFile } from '../files/replace-file.ts';
import { errorCode, errorMessage } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import { tryParseJson } from '../values/json.ts';
import { type CollectionName, eachCollection, storedSchemas } from './stored-records.ts';
import type { World, WorldData } from './world.ts';

const FORMAT_VERSION = 1;
/** The delay between a change and its write. Changes during the delay share one write. */
const WRITE_DELAY_MS = 100;

const dataFile: z.ZodType<WorldData & { readonly format_version: 1 }> = z.strictObject({
  format_version: z.literal(FORMAT_VERSION),
  workspace_id: z.string().min(1),
  sequence: z.strictObject({ time: z.int(), drawn: z.int().min(0) }),
  records: z.strictObject(
    eachCollection<{ [Name in CollectionName]: z.ZodArray<(typeof storedSchemas)[Name]> }>((name) =>
      z.array(storedSchemas[name]),
    ),
  ),
});

/**
 * Returns the world from a data file, or undefined if the file does not exist. Does not create the file.
 * @throws UserError for an invalid file.
 */
export async function loadWorldData(path: string): Promise<WorldData | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  const content = tryParseJson(text);
  if (content === undefined) throw invalidFileError(path, 'not JSON');
  const checked = dataFile.safeParse(content);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw invalidFileError(path, [issue?.path.join('.'), issue?.message].filter(Boolean).join(': '));
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readGivenFile(path)).toString();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new UserError(`cannot read the emulator data file ${path}: ${errorMessage(error)}`, {
      hint: 'Set --data to a file.',
      cause: error,
    });
  }
}

function invalidFileError(path: string, reason: string): UserError {
  return new UserError(`${path} is not an emulator data file: ${reason}`, {
    hint: 'Use another file, or move this one away to start with an empty workspace.',
  });
}

/** Saves a world to a file, and joins quick changes. `close` writes pending changes; it rejects with a UserError if that fails. */
export class DataFile {
  readonly #path: string;
  readonly #world: World;
  readonly #closing = new AbortController();
  #isDirty = false;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** Writes the world now, so that an unwritable path fails early, and again after changes. */
  static async open(path: string, world: World): Promise<DataFile> {
    const file = new DataFile(path, world);
    await file.#write();
    return file;
  }

  private constructor(path: string, world: World) {
    this.#path = path;
    this.#world = world;
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
      await sleep(WRITE_DELAY_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
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
    const content = { format_version: FORMAT_VERSION, ...this.#world.toData() };
    try {
      await replaceFile(this.#path, `${JSON.stringify(content, null, 1)}\n`);
    } catch (error) {
      const message = errorMessage(error);
      const reason = errorCode(error) === 'ENOENT' ? 'the folder does not exist' : message;
      throw new UserError(`cannot write the emulator data file ${this.#path}: ${reason}`, {
        hint: 'Set --data to a writable file.',
        cause: error,
      });
    }
  }
}
