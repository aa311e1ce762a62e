import { UserError } from '../problems/user-error.ts';
import type { EditedProject } from './edited-project.ts';
import type { ProjectSnapshot } from './snapshot.ts';

interface LoadsOptions {
  readonly project: EditedProject;
  readonly texts: () => ReadonlyMap<string, string>;
  /** Told of each load that came to its end. */
  readonly onLoaded: (snapshot: ProjectSnapshot) => void;
  /** Told why the project cannot be loaded at all. */
  readonly onError: (error: unknown) => void;
}

/** Loads a project whenever something changed: one load at a time, and the newest wins. */
export class ProjectLoads {
  readonly #options: LoadsOptions;
  #snapshot: ProjectSnapshot | undefined;
  #running: Promise<void> | undefined;
  #abort = new AbortController();
  #isStale = false;

  constructor(options: LoadsOptions) {
    this.#options = options;
  }

  /** The last load, which may be a change or two behind; undefined where there was none. */
  get latest(): ProjectSnapshot | undefined {
    return this.#snapshot;
  }

  get project(): EditedProject {
    return this.#options.project;
  }

  /** To be called after each change. */
  changed(): void {
    this.#isStale = true;
    this.#abort.abort();
    this.#running ??= this.#run();
  }

  /** The project as of now; undefined where it cannot be loaded. */
  async current(): Promise<ProjectSnapshot | undefined> {
    await this.#running;
    return this.#snapshot;
  }

  /** Gives up what is under way. */
  end(): void {
    this.#isStale = false;
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    const { project, texts, onLoaded, onError } = this.#options;
    // All that came with this change is taken at once.
    await new Promise(setImmediate);
    while (this.#isStale) {
      this.#isStale = false;
      this.#abort = new AbortController();
      const { signal } = this.#abort;
      try {
        this.#snapshot = await project.load(texts(), signal);
        if (!signal.aborted) onLoaded(this.#snapshot);
      } catch (error) {
        if (!(signal.aborted && error instanceof UserError)) onError(error);
      }
    }
    this.#running = undefined;
  }
}
