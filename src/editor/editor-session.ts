import { hash } from 'node:crypto';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DiagnosticSeverity, type Diagnostic as Shown } from 'vscode-languageserver-protocol';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { FileView } from '../files/file-view.ts';
import { FLEET_FILE, loadFleetFile } from '../fleet/fleet-file.ts';
import { isInside, realPath } from '../manifests/read-file.ts';
import { WatchedFiles } from '../operator/file-watch.ts';
import { inputsOf } from '../operator/load-version.ts';
import type { ExternalPolicies } from '../policies/rule.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { findProjectFolder } from '../project/find-project.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { selectWorkspaces } from '../project/select-workspace.ts';
import { EditedProject, type EditedProjectOptions } from './edited-project.ts';
import type { ShownWorkspaces } from './extension-requests.ts';
import { type OpenFile, OpenFiles } from './open-files.ts';
import { knownFile, type ProjectSnapshot, type TextRange } from './snapshot.ts';
import { usesOfText, withTextFiles } from './text-files.ts';

export interface EditorSessionOptions extends Omit<EditedProjectOptions, 'folder' | 'workspace' | 'onNotice'> {
  /** The user's id; undefined on systems without one. */
  readonly user: number | undefined;
}

interface EditorSettings {
  /** The requested workspace. It applies to every project that has a workspace with this name. */
  readonly workspace: string | undefined;
  /** True if the editor reports changes of the files in its folders. */
  readonly reportsFileChanges: boolean;
  /** The editor's command that shows locations; empty if it has none. */
  readonly showLocations: string;
}

interface EditorNotifications {
  diagnostics(uri: string, version: number | undefined, diagnostics: readonly Shown[]): void;
  /** Called after each load of a project. */
  loaded(snapshot: ProjectSnapshot): void;
  notice(text: string): void;
  log(text: string): void;
  /** Reports an unexpected error. */
  failure(error: unknown): void;
}

export class EditorSession {
  readonly files = new OpenFiles();
  #editor: EditorSettings | undefined;
  readonly #options: EditorSessionOptions;
  readonly #notifications: EditorNotifications;
  #lastNotice = '';
  /** The projects by the real path of their folders. */
  readonly #projects = new Map<string, ProjectLoads>();
  readonly #watches: DiskWatch[] = [];
  /** The published diagnostics by source, which is a project folder or a fleet file, and then by URI. */
  readonly #published = new Map<string, ReadonlyMap<string, readonly Shown[]>>();

  constructor(options: EditorSessionOptions, notifications: EditorNotifications) {
    this.#options = options;
    this.#notifications = notifications;
  }

  get showLocations(): string {
    return this.#editor?.showLocations ?? '';
  }

  /** Must be called once, before all other methods. */
  begin(settings: EditorSettings): void {
    this.#editor = settings;
  }

  projectOf({ file }: Pick<OpenFile, 'file'>): ProjectLoads | undefined {
    if (file === undefined) return undefined;
    const { env, user } = this.#options;
    const home = env.HOME ?? env.USERPROFILE;
    try {
      const folder = findProjectFolder({ from: path.dirname(file), home, user });
      return folder === undefined ? undefined : this.#project(folder);
    } catch (error) {
      this.#reportError(error);
      return undefined;
    }
  }

  /** Returns the workspaces in the project of a file, which need not be open; undefined if there is no valid project. */
  async workspacesAt(file: string | undefined): Promise<ShownWorkspaces | undefined> {
    const loads = this.projectOf({ file });
    if (loads?.latest === undefined) loads?.changed();
    const snapshot = await loads?.current();
    if (loads === undefined || snapshot?.project === undefined) return undefined;
    const { project, workspace } = snapshot;
    const workspaces = [];
    for (const each of selectWorkspaces(project, 'all', loads.project.env)) {
      const { name, apiKey, secrets, baseUrl, workspaceId, ca } = each;
      const isKnown = this.#options.readsSecrets && secrets.isLocal;
      if (isKnown && apiKey.name !== '') await secrets.read([apiKey.name]);
      const certificates = ca === undefined ? null : hash('sha256', ca);
      workspaces.push({ name, lacksKey: isKnown && !apiKey.isSet, baseUrl, workspaceId, certificates });
    }
    const used = this.files.all().filter((opened) => this.projectOf(opened) === loads && isUsed(snapshot, opened));
    return { selected: workspace?.name, workspaces, openFiles: used.map(({ document }) => document.uri) };
  }

  /** Returns the projects of all files that were opened in this session. */
  async projects(): Promise<readonly ProjectSnapshot[]> {
    const snapshots = await Promise.all([...this.#projects.values()].map((loads) => loads.current()));
    return snapshots.filter((snapshot) => snapshot !== undefined);
  }

  /** Must be called after each change of an open file. */
  changed(opened: OpenFile): void {
    this.projectOf(opened)?.changed();
    this.#checkFleet(opened);
  }

  async diagnosticsOf(opened: OpenFile): Promise<readonly Diagnostic[]> {
    const { file } = opened;
    const snapshot = await this.projectOf(opened)?.current();
    const isOfFile = ({ file: name }: Diagnostic) =>
      snapshot !== undefined && path.resolve(snapshot.folder, name) === file;
    return [...(snapshot?.diagnostics.filter(isOfFile) ?? []), ...this.#fleetDiagnostics(opened)];
  }

  closed(opened: OpenFile): void {
    this.files.close(opened.document.uri);
    this.projectOf(opened)?.changed();
    if (isFleetFile(opened.file)) this.#publish(opened.file, new Map());
  }

  /** Must be called when files on disk may have changed. @param files real paths. */
  changedOnDisk(files: readonly string[] | 'all'): void {
    for (const [folder, loads] of this.#projects) {
      // An editor reports a renamed or deleted folder alone, without the project folders in it.
      const isAffected = (file: string) => isInside(file, folder) || isInside(folder, file);
      const projectFiles = files === 'all' ? [undefined] : files.filter(isAffected);
      for (const file of projectFiles) loads.project.forget(file);
      if (projectFiles.some((file) => file === undefined || belongsToProject(path.relative(folder, file))))
        loads.changed();
    }
    for (const opened of this.files.all()) {
      // The change on disk may have created a project for this file.
      const loads = this.projectOf(opened);
      if (loads?.latest === undefined) loads?.changed();
      this.#checkFleet(opened);
    }
  }

  async close(): Promise<void> {
    for (const loads of this.#projects.values()) loads.end();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  #project(folder: string): ProjectLoads {
    const known = this.#projects.get(folder);
    if (known !== undefined) return known;
    if (this.#editor === undefined) throw new Error('the session has not begun');
    const { workspace, reportsFileChanges } = this.#editor;
    const { files } = this;
    const { policies } = this.#options;
    const onNotice = (text: string) => this.#sendNotice(text);
    let watch: DiskWatch | undefined;
    const loads = new ProjectLoads({
      project: new EditedProject({ ...this.#options, folder, workspace, onNotice }),
      texts: () => files.textsIn(folder, policies?.files.map((each) => realPath(each.path)) ?? []),
      onLoaded: (snapshot) => {
        this.#publishAll(snapshot);
        this.#notifications.loaded(snapshot);
        if (!reportsFileChanges || !files.isShown(folder)) watch ??= this.#watch(folder);
        watch?.loaded(snapshot);
      },
      onError: (error) => {
        this.#reportError(error);
        // Remove the diagnostics of the last load.
        this.#publish(folder, new Map());
      },
    });
    this.#projects.set(folder, loads);
    return loads;
  }

  #watch(folder: string): DiskWatch {
    const watch = new DiskWatch({
      folder,
      policies: this.#options.policies,
      changed: () => this.changedOnDisk('all'),
      ready: () => this.#notifications.log(`Watching the files of ${folder}`),
      failed: (error) => this.#reportError(error),
    });
    this.#watches.push(watch);
    return watch;
  }

  #reportError(error: unknown): void {
    if (!(error instanceof UserError)) this.#notifications.failure(error);
    else this.#sendNotice([error.message, error.hint].filter(Boolean).join('. '));
  }

  /** Sends a notice unless it repeats the last one. Otherwise, each keystroke would send it again. */
  #sendNotice(text: string): void {
    if (text !== this.#lastNotice) this.#notifications.notice(text);
    this.#lastNotice = text;
  }

  #publishAll(snapshot: ProjectSnapshot): void {
    const { folder, textOf } = snapshot;
    const shown = new Map<string, readonly Shown[]>();
    for (const [name, ofFile] of Map.groupBy(withTextFiles(snapshot), ({ file }) => file)) {
      const file = path.resolve(folder, name);
      const uri = this.files.uriOf(file);
      const document = this.files.get(uri)?.document ?? documentOf(uri, textOf(file) ?? '');
      shown.set(
        uri,
        ofFile.map((each) => shownDiagnostic(each, document)),
      );
    }
    this.#publish(folder, shown);
  }

  #checkFleet(opened: OpenFile): void {
    const { document, file } = opened;
    if (!isFleetFile(file)) return;
    const shown = this.#fleetDiagnostics(opened).map((each) => shownDiagnostic(each, document));
    this.#publish(file, new Map([[document.uri, shown]]));
  }

  #fleetDiagnostics({ document, file }: OpenFile): readonly Diagnostic[] {
    if (!isFleetFile(file)) return [];
    return new FileView(new Map([[file, document.getText()]])).during(() => {
      try {
        loadFleetFile(file, this.#options.env);
        return [];
      } catch (error) {
        if (error instanceof InvalidProject) return error.diagnostics;
        this.#reportError(error);
        return [];
      }
    });
  }

  /** Replaces all earlier diagnostics of a source. */
  #publish(source: string, shown: ReadonlyMap<string, readonly Shown[]>): void {
    const before = this.#published.get(source) ?? new Map<string, readonly Shown[]>();
    this.#published.set(source, shown);
    for (const uri of new Set([...before.keys(), ...shown.keys()])) {
      if (isDeepStrictEqual(before.get(uri) ?? [], shown.get(uri) ?? [])) continue;
      const all = [...this.#published.values()].flatMap((published) => published.get(uri) ?? []);
      this.#notifications.diagnostics(uri, this.files.get(uri)?.document.version, all);
    }
  }
}

/** Returns true if a run of the project reads the file. */
function isUsed(snapshot: ProjectSnapshot, { file = '' }: OpenFile): boolean {
  const name = path.relative(snapshot.folder, file).replaceAll(path.sep, '/');
  return knownFile(snapshot, name) !== undefined || (usesOfText(snapshot, name)?.users.length ?? 0) > 0;
}

/** Returns true for a fleet file. Fleet files are checked separately and need no project. */
function isFleetFile(file: string | undefined): file is string {
  return file !== undefined && path.basename(file) === FLEET_FILE;
}

/** Returns false for files in `.git` and `node_modules`, which may be many. @param file a path relative to the project folder. */
function belongsToProject(file: string): boolean {
  return !file.split(path.sep).some((part) => part === '.git' || part === 'node_modules');
}

interface DiskWatchOptions {
  readonly folder: string;
  readonly policies: ExternalPolicies | undefined;
  readonly changed: () => void;
  /** Called when the watch has begun. */
  readonly ready: () => void;
  readonly failed: (error: unknown) => void;
}

/** Watches the files of a project, for editors that do not report changes. */
class DiskWatch {
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

  /** Must be called after each load. Watches the files that the load read. */
  loaded({ project, workspace, declarations }: ProjectSnapshot): void {
    if (!this.#isDue || project === undefined || workspace === undefined) return;
    this.#isDue = false;
    const { policies, changed, ready, failed } = this.#options;
    this.#running = this.#running
      .then(async () => {
        if (!(await this.#watched.watch(inputsOf(project, workspace, { declarations, policies })))) return;
        ready();
        // Additional files may have changed before the watch began, so load again.
        changed();
      })
      .catch(failed);
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#watched.close();
  }
}

interface LoadsOptions {
  readonly project: EditedProject;
  readonly texts: () => ReadonlyMap<string, string>;
  readonly onLoaded: (snapshot: ProjectSnapshot) => void;
  /** Called if the project cannot be loaded at all. */
  readonly onError: (error: unknown) => void;
}

/** Loads a project after every change, one load at a time. A change aborts the load in progress. */
class ProjectLoads {
  readonly #options: LoadsOptions;
  #snapshot: ProjectSnapshot | undefined;
  #running: Promise<void> | undefined;
  #abort = new AbortController();
  #isStale = false;

  constructor(options: LoadsOptions) {
    this.#options = options;
  }

  /** The result of the last load, which may lack recent changes; undefined before the first load. */
  get latest(): ProjectSnapshot | undefined {
    return this.#snapshot;
  }

  get project(): EditedProject {
    return this.#options.project;
  }

  changed(): void {
    this.#isStale = true;
    this.#abort.abort();
    this.#running ??= this.#run();
  }

  /** Waits until all changes are loaded. Returns the last successful load, if any. */
  async current(): Promise<ProjectSnapshot | undefined> {
    await this.#running;
    return this.#snapshot;
  }

  /** Aborts the load in progress. */
  end(): void {
    this.#isStale = false;
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    const { project, texts, onLoaded, onError } = this.#options;
    // Wait for other changes that arrive in the same batch.
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

/** Converts a diagnostic to the protocol, with the range of its key or value. */
export function shownDiagnostic(diagnostic: Diagnostic, document: TextDocument): Shown {
  const { severity, code, message } = diagnostic;
  const { start, end } = rangeOf(diagnostic, document);
  return {
    range: { start: document.positionAt(start), end: document.positionAt(end) },
    severity: severity === 'error' ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
    code,
    source: 'voxform',
    message,
  };
}

/** Matches a key, or a value on one line. */
const WORD = /"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[{[].*[\]}]|\S.*?(?=\s*(?:\s#|:(?:\s|$)|[,\]}]|$))/y;

/** Returns the range of the key or value of a diagnostic; the whole line if the diagnostic has no column. */
export function rangeOf({ line = 1, column }: Diagnostic, document: TextDocument): TextRange {
  const text = document.getText();
  const begin = document.offsetAt({ line: line - 1, character: 0 });
  const end = text.slice(begin).search(/[\r\n]|$/) + begin;
  if (column === undefined) return { start: begin, end };
  const start = Math.min(begin + column - 1, end);
  WORD.lastIndex = 0;
  const [word = ''] = WORD.exec(text.slice(start, end)) ?? [];
  return { start, end: start + word.length };
}

export function documentOf(uri: string, text: string): TextDocument {
  return TextDocument.create(uri, 'yaml', 0, text);
}
