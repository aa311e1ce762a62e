import type { LocalPaths } from '../project/local-paths.ts';
import type { RunContext } from '../runs/run-context.ts';
import { type InputFiles, LastLoad } from './last-load.ts';
import { type LoadedVersion, loadVersion } from './load-version.ts';
import type { Invalid } from './run-report.ts';
import type { Fetched, ManifestSource, Version } from './source.ts';

interface Refreshed {
  /** The newest manifests, or where they cannot be used the last good ones. */
  readonly loaded: LoadedVersion | undefined;
  /** What is wrong with the newest. */
  readonly invalid: Invalid | undefined;
  readonly fetchProblem: unknown;
}

interface LastGoodOptions {
  readonly context: RunContext;
  readonly source: ManifestSource;
  /** Where state and secrets may lie; anywhere, and relative to the project folder, where absent. */
  readonly local: LocalPaths | undefined;
  /** Of an earlier run of the workspace. */
  readonly last?: LastLoad | undefined;
  /**
   * Told which files a load depended on. True where it began to look after some that nobody had looked after: they may have changed
   * in between.
   */
  watchFiles(inputs: InputFiles): Promise<boolean>;
}

/** A change of what is to be watched leads to a further load; a link that goes back and forth must not make that endless. */
const MOST_LOADS = 3;

export class LastGoodManifests {
  readonly #options: LastGoodOptions;
  readonly #last: LastLoad;
  #loaded: LoadedVersion | undefined;

  constructor(options: LastGoodOptions) {
    this.#options = options;
    this.#last = options.last ?? new LastLoad();
  }

  /** Those in force. */
  get loaded(): LoadedVersion | undefined {
    return this.#loaded;
  }

  /** Fetches and loads the newest manifests. Throws where they cannot be fetched and there are none from before. */
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
      if ((await watchFiles(result.inputs)) && loads < MOST_LOADS) continue;
      if ('invalid' in result) return result.invalid;
      this.#loaded = result.loaded;
      return undefined;
    }
  }

  /** After a restart nothing is in memory, but the source may still have what was good before it. */
  async #fallBack(newest: Fetched): Promise<void> {
    const good = await this.#options.source.lastGood();
    if (good !== undefined && good.folder !== newest.folder) await this.#load(good);
  }
}
