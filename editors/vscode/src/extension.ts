import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import * as vscode from 'vscode';
import type { LanguageClient, Location, Position } from 'vscode-languageclient/node';
import { type ShownWorkspaces, TopicRequest, WorkspacesRequest } from '../../../src/editor/extension-requests.ts';
import type { PlanDocument } from '../../../src/engine/plan/plan-document.ts';
import { errorMessage } from '../../../src/problems/error-code.ts';
import { ApiKeys } from './api-keys.ts';
import { commandEnvironment } from './command-environment.ts';
import type { KeyOwner } from './key-owner.ts';
import { languageClient, SHOW_LOCATIONS } from './language-server.ts';
import { lastPlan } from './last-plan.ts';
import { chooseProject, projectAround, projectFile, projectFolders } from './projects.ts';
import { ReportPanels } from './report-panels.ts';
import { ResultLenses } from './result-lenses.ts';
import { failureText, lacksApiKey, runVoxform } from './run-voxform.ts';

let extension: Extension | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  await extension.start();
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
}

/** A workspace that the user picked. */
interface PickedWorkspace extends KeyOwner {
  readonly lacksKey: boolean;
  /** The URIs of the open files of the project. */
  readonly openFiles: readonly string[];
}

interface WorkspaceWithKey extends PickedWorkspace {
  /** The key that the user typed, if any. */
  readonly apiKey: string | undefined;
}

const WORKSPACE = 'workspace';
const EXPLANATIONS = 'voxform-explain';

class Extension {
  readonly #context: vscode.ExtensionContext;
  readonly #command: string;
  readonly #keys: ApiKeys;
  readonly #lenses: ResultLenses;
  readonly #panels = new ReportPanels();
  readonly #status = vscode.window.createStatusBarItem('voxform', vscode.StatusBarAlignment.Left);
  readonly #log = vscode.window.createOutputChannel('voxform: runs');
  /** Undefined while the server starts. */
  #client: LanguageClient | undefined;
  #folders: readonly string[] = [];
  #restarts: Promise<void> = Promise.resolve();

  constructor(context: vscode.ExtensionContext) {
    this.#context = context;
    this.#command = path.join(context.extensionPath, 'voxform', 'dist', 'main.js');
    this.#keys = new ApiKeys(context.secrets);
    this.#lenses = new ResultLenses({ client: () => this.#client, memento: context.workspaceState });
    this.#status.name = 'voxform';
    this.#status.command = 'voxform.chooseWorkspace';
  }

  async start(): Promise<void> {
    const restart = () => this.#restart();
    const projects = vscode.workspace.createFileSystemWatcher('**/{voxform.yaml,voxform.yml,fleet.yaml}', false, true);
    this.#context.subscriptions.push(
      ...[this.#status, this.#log, this.#lenses, projects],
      projects.onDidCreate(restart),
      projects.onDidDelete(restart),
      vscode.workspace.onDidGrantWorkspaceTrust(restart),
      vscode.workspace.onDidChangeWorkspaceFolders(restart),
      vscode.window.onDidChangeActiveTextEditor(() => this.#showStatus()),
      vscode.languages.onDidChangeDiagnostics(() => this.#showStatus()),
      vscode.languages.registerCodeLensProvider(
        ['yaml', 'json'].map((language) => ({ language, scheme: 'file' })),
        this.#lenses,
      ),
      vscode.workspace.registerTextDocumentContentProvider(EXPLANATIONS, {
        provideTextDocumentContent: (uri) => this.#explanation(uri.path.slice(1)),
      }),
      vscode.commands.registerCommand(SHOW_LOCATIONS, (uri: string, at: Position, locations: Location[]) =>
        this.#showLocations(uri, at, locations),
      ),
      ...Object.entries({
        plan: () => this.#plan(),
        drift: () => this.#drift(),
        chooseWorkspace: () => this.#chooseWorkspace(),
        setApiKey: () => this.#setApiKey(),
        explain: () => this.#explain(),
      }).map(([name, act]) => vscode.commands.registerCommand(`voxform.${name}`, act)),
    );
    await this.#restart();
  }

  async stop(): Promise<void> {
    await this.#restarts;
    await this.#client?.dispose();
  }

  /** Restarts run one after the other, because trust and folders may change at the same time. */
  #restart(): Promise<void> {
    this.#restarts = this.#restarts.then(() => this.#replaceClient()).catch(showStartError);
    void this.#showStatus();
    return this.#restarts;
  }

  async #replaceClient(): Promise<void> {
    const before = this.#client;
    this.#client = undefined;
    // The client kills a busy server after two seconds.
    await before?.dispose().catch(() => undefined);
    this.#folders = await projectFolders();
    const client = languageClient(this.#folders, {
      command: this.#command,
      isTrusted: vscode.workspace.isTrusted,
      workspace: this.#context.workspaceState.get(WORKSPACE),
    });
    await client.start();
    this.#client = client;
  }

  async #workspaces(folder: string): Promise<ShownWorkspaces | null> {
    await this.#restarts;
    return (await this.#client?.sendRequest(WorkspacesRequest, { textDocument: { uri: projectFile(folder) } })) ?? null;
  }

  async #showStatus(): Promise<void> {
    await this.#restarts;
    const active = vscode.window.activeTextEditor?.document.uri.fsPath;
    const folder = projectAround(this.#folders, active) ?? this.#folders[0];
    const known = folder === undefined ? null : await this.#workspaces(folder);
    const problems = vscode.languages
      .getDiagnostics()
      .flatMap(([, diagnostics]) => diagnostics.filter(({ source }) => source === 'voxform')).length;
    this.#status.text = `$(broadcast) ${known?.selected ?? 'voxform'}${problems === 0 ? '' : ` $(warning) ${problems}`}`;
    this.#status.tooltip = 'voxform: workspace and problems';
    if (folder === undefined) this.#status.hide();
    else this.#status.show();
  }

  async #chooseWorkspace(): Promise<void> {
    const picked = await this.#pick();
    if (picked === undefined) return;
    await this.#context.workspaceState.update(WORKSPACE, picked.name);
    await this.#restart();
  }

  /** Asks for a workspace, with the selected one first. Returns undefined if the user cancels or the project is invalid. */
  async #pick(): Promise<PickedWorkspace | undefined> {
    const folder = await chooseProject();
    if (folder === undefined) return undefined;
    const known = await this.#workspaces(folder);
    if (known === null) {
      void vscode.window.showErrorMessage('The project file has errors. Fix them first.');
      return undefined;
    }
    const names = known.workspaces.map(({ name }) => name);
    const sorted = names.sort((a, b) => Number(b === known.selected) - Number(a === known.selected));
    const picked = sorted.length < 2 ? sorted[0] : await vscode.window.showQuickPick(sorted, { title: 'Workspace' });
    const chosen = known.workspaces.find(({ name }) => name === picked);
    return chosen && { ...chosen, folder, openFiles: known.openFiles };
  }

  async #choose(): Promise<WorkspaceWithKey | undefined> {
    const picked = await this.#pick();
    if (picked === undefined) return undefined;
    // If the base URL is missing, the command reports which variable is not set.
    const { lacksKey, baseUrl } = picked;
    const stored = await this.#keys.stored(picked);
    if (stored !== undefined || !lacksKey || baseUrl === '') return { ...picked, apiKey: stored };
    const apiKey = await this.#keys.ask(picked);
    return apiKey === undefined ? undefined : { ...picked, apiKey };
  }

  async #setApiKey(): Promise<void> {
    const picked = await this.#pick();
    if (picked !== undefined) await this.#keys.ask(picked);
  }

  /** Saves the open files of the project. Returns false if a file cannot be saved; the editor then shows the error. */
  async #save({ openFiles }: PickedWorkspace): Promise<boolean> {
    const uris = new Set(openFiles.map((uri) => vscode.Uri.parse(uri, true).toString()));
    const unsaved = vscode.workspace.textDocuments.filter(({ isDirty, uri }) => isDirty && uris.has(uri.toString()));
    const saved = await Promise.all(unsaved.map((document) => document.save()));
    return saved.every(Boolean);
  }

  async #plan(): Promise<void> {
    const chosen = await this.#choose();
    if (chosen === undefined || !(await this.#save(chosen))) return;
    const { folder, name: workspace } = chosen;
    const scratch = this.#context.globalStorageUri.fsPath;
    const file = path.join(scratch, `${randomUUID()}.json`);
    await mkdir(scratch, { recursive: true });
    await this.#withProgress(`Planning ${workspace}`, async (progress) => {
      try {
        const html = await this.#report(['plan', '--out', file, '--output', 'html'], chosen, progress);
        if (html === undefined) return;
        this.#panels.show(`plan ${folder}`, `Plan: ${workspace}`, html);
        const json = await this.#report(['show', file, '--output', 'json'], { ...chosen, apiKey: undefined }, progress);
        if (json !== undefined)
          await this.#lenses.remember(folder, lastPlan(JSON.parse(json) as PlanDocument, Date.now()));
      } finally {
        await rm(file, { force: true });
      }
    });
  }

  async #drift(): Promise<void> {
    const chosen = await this.#choose();
    if (chosen === undefined) return;
    const { folder, name: workspace } = chosen;
    await this.#withProgress(`Checking ${workspace} for drift`, async (progress) => {
      const html = await this.#report(['drift', '--output', 'html'], chosen, progress);
      if (html !== undefined) this.#panels.show(`drift ${folder}`, `Drift: ${workspace}`, html);
    });
  }

  /** Returns the output of a command for a workspace; undefined if the command is cancelled, or fails and its error is shown. */
  async #report(args: readonly string[], chosen: WorkspaceWithKey, progress: Progress): Promise<string | undefined> {
    const { signal, onProgress } = progress;
    const { folder: cwd, name, baseUrl, workspaceId, apiKey } = chosen;
    // Pin the destination, because the project may have changed since the user agreed to send the key to this workspace.
    const destination = apiKey === undefined ? {} : { VOXFORM_BASE_URL: baseUrl, VOXFORM_WORKSPACE_ID: workspaceId };
    const env = { ...commandEnvironment(process.env, { isTrusted: true }), ...destination };
    const keyFlag = apiKey === undefined ? [] : ['--api-key-stdin'];
    const run = { command: this.#command, cwd, env, input: apiKey, signal, onProgress };
    try {
      const { result, messages } = await runVoxform([...args, '--workspace', name, ...keyFlag], run);
      for (const { level, message } of messages) this.#log.appendLine(`${level}: ${message}`);
      if (result !== undefined) return result;
      // Only voxform itself reads secret commands, so a missing key may be detected only now.
      if (apiKey === undefined && baseUrl !== '' && lacksApiKey(messages)) {
        const enteredKey = await this.#keys.ask(chosen);
        return enteredKey === undefined ? undefined : this.#report(args, { ...chosen, apiKey: enteredKey }, progress);
      }
      const buttons = {
        'Show problems': showProblems,
        'Show log': () => this.#log.show(),
        'Change API key': () => this.#keys.ask(chosen),
      };
      const names = Object.keys(buttons) as (keyof typeof buttons)[];
      void vscode.window
        .showErrorMessage(failureText(messages), ...names)
        .then((picked): unknown => picked && buttons[picked]());
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return undefined;
  }

  async #withProgress(title: string, act: (progress: Progress) => Promise<void>): Promise<void> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    await vscode.window.withProgress(options, (progress, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      return act({ signal: abort.signal, onProgress: (message) => progress.report({ message }) });
    });
  }

  async #explain(): Promise<void> {
    const topics = JSON.parse(await this.#run(['explain', '--output', 'json'])) as readonly Topic[];
    const current = await this.#topicAtCursor();
    const items = topics
      .map(({ path: label, about, description }) => ({ label, description: about, detail: description }))
      .sort((a, b) => Number(b.label === current) - Number(a.label === current));
    const picked = await vscode.window.showQuickPick(items, { title: 'Explain field', matchOnDetail: true });
    if (picked === undefined) return;
    const uri = vscode.Uri.from({ scheme: EXPLANATIONS, path: `/${picked.label}` });
    await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }

  /** Returns the topic of the field at the cursor. */
  async #topicAtCursor(): Promise<string | null> {
    const { document, selection } = vscode.window.activeTextEditor ?? {};
    if (this.#client === undefined || document === undefined || selection === undefined) return null;
    const textDocument = { uri: document.uri.toString() };
    return this.#client.sendRequest(TopicRequest, { textDocument, position: selection.active });
  }

  #explanation(topic: string): Promise<string> {
    return this.#run(['explain', topic]);
  }

  /** Returns the output of a command that needs no project. */
  async #run(args: readonly string[]): Promise<string> {
    const env = commandEnvironment(process.env, { isTrusted: false });
    const { signal } = new AbortController();
    const { result = '' } = await runVoxform(args, {
      command: this.#command,
      cwd: this.#context.extensionPath,
      env,
      signal,
    });
    return result;
  }

  async #showLocations(uri: string, at: Position, locations: readonly Location[]): Promise<void> {
    const convert = this.#client?.protocol2CodeConverter;
    if (convert === undefined) return;
    await vscode.commands.executeCommand(
      'editor.action.goToLocations',
      convert.asUri(uri),
      convert.asPosition(at),
      locations.map((location) => convert.asLocation(location)),
      'peek',
      'No uses found',
    );
  }
}

async function showProblems(): Promise<void> {
  await vscode.commands.executeCommand('workbench.actions.view.problems');
}

function showStartError(error: unknown): void {
  void vscode.window.showErrorMessage(`voxform cannot start: ${errorMessage(error)}`);
}

interface Progress {
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

interface Topic {
  readonly path: string;
  readonly about: string;
  readonly description: string;
}
