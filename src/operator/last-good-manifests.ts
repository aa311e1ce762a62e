import type { LocalPaths } from '../project/local-paths.ts';
import type { RunContext } from '../runs/run-context.ts';
import { type InputFiles, LastLoad } from './last-load.ts';
import { type LoadedVersion, loadVersion } from './load-version.ts';
import type { Invalid } from './run-report.ts';
import type { Fetched, ManifestSource, Version } from './source.ts';

interface Refreshed {
  /** The newest manifests, or the last valid ones. */
  readonly loaded: LoadedVersion | undefined;
  /** The problem with the newest ones. */
  readonly invalid: Invalid | undefined;
  readonly fetchProblem: unknown;
}

interface LastGoodOptions {
  readonly context: RunContext;
  readonly source: ManifestSource;
  /** Limits the folders of state and secrets. Without it, they may be anywhere, and are relative to the project folder. */
  readonly local: LocalPaths | undefined;
  /** From an earlier run of the workspace. */
  readonly last?: LastLoad | undefined;
  /** Called with the files that a load used. True if it started to watch new ones, which may have changed in between. */
  watchFiles(inputs: InputFiles): Promise<boolean>;
}

/** New files to watch require another load. A link that changes repeatedly must not make that endless. */
const MAX_LOADS = 3;

export class LastGoodManifests {
  readonly #options: LastGoodOptions;
  readonly #last: LastLoad;
  #loaded: LoadedVersion | undefined;

  constructor(options: LastGoodOptions) {
    this.#options = options;
    this.#last = options.last ?? new LastLoad();
  }

  /** The manifests in force. */
  get loaded(): LoadedVersion | undefined {
    return this.#loaded;
  }

  /** Fetches and loads the newest manifests. Throws if they cannot be fetched and there are no earlier ones. */
  async refresh(signal: AbortSignal): Promise<Refreshed> {
    const { source } = this.#options;
    const fetched = await source.fetch(signal);
    const invalid = await this.#load(fetched);
    if (invalid === undefined) await source.keep(fetched);
    else if (this.#loaded === undefined) await this.#fallBack(fetched);
    return { loaded: this.#loaded, invalid, fetchProblem: fetched.problem };
  }

  async #load(version: Version): Promise<Invalid | undefined> {
    const { context, local, watchFiles } = this.#options;
    for (let loads = 1; ; loads++) {
      const result = await loadVersion(context, { version, local, last: this.#last });
      if ((await watchFiles(result.inputs)) && loads < MAX_LOADS) continue;
      if ('invalid' in result) return result.invalid;
      this.#loaded = result.loaded;
      return undefined;
    }
  }

  /** After a restart the memory is empty, but the source may still have the last valid version. */
  async #fallBack(newest: Fetched): Promise<void> {
    const good = await this.#options.source.lastGood();
    if (good !== undefined && good.folder !== newest.folder) await this.#load(good);
  }
}
