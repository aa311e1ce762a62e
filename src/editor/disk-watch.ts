import { WatchedFiles } from '../operator/file-watch.ts';
import { inputsOf } from '../operator/load-version.ts';
import type { OtherPolicies } from '../policies/rule.ts';
import type { ProjectSnapshot } from './snapshot.ts';

interface DiskWatchOptions {
  readonly folder: string;
  readonly policies: OtherPolicies | undefined;
  readonly changed: () => void;
  /** Told when the files are looked after. */
  readonly ready: () => void;
  readonly failed: (error: unknown) => void;
}

/** Notices changes of a project's files on the disk, for an editor that does not. */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  readonly #watched: WatchedFiles;
  #running: Promise<void> = Promise.resolve();
  #isDue = true;

  constructor(options: DiskWatchOptions) {
    const { folder, changed, failed } = options;
    this.#options = options;
    this.#watched = new WatchedFiles({
      folder,
      changed: () => {
        this.#isDue = true;
        changed();
      },
      onError: failed,
    });
  }

  /** Looks after the files of a load from now on, where they may be others than before. */
  loaded({ project, workspace, declarations }: ProjectSnapshot): void {
    if (!this.#isDue || project === undefined || workspace === undefined) return;
    this.#isDue = false;
    const { policies, changed, ready, failed } = this.#options;
    this.#running = this.#running
      .then(async () => {
        if (!(await this.#watched.watch(inputsOf(project, workspace, { declarations, policies })))) return;
        ready();
        // They may have changed before somebody looked after them.
        changed();
      })
      .catch(failed);
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#watched.close();
  }
}
