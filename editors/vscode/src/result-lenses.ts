import * as vscode from 'vscode';
import { DocumentSymbolRequest, type LanguageClient } from 'vscode-languageclient/node';
import { ageText, type LastPlan } from './last-plan.ts';
import { projectAround } from './projects.ts';

interface LensesOptions {
  readonly client: () => LanguageClient | undefined;
  /** Storage for the last plans that survives closing the window. */
  readonly memento: vscode.Memento;
}

const KEY = 'lastPlans';
const REFRESH_INTERVAL_MS = 60_000;

/** Shows the result of the last plan above each resource. */
export class ResultLenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #options: LensesOptions;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #clock = setInterval(() => this.#changed.fire(), REFRESH_INTERVAL_MS);
  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(options: LensesOptions) {
    this.#options = options;
  }

  async remember(folder: string, plan: LastPlan): Promise<void> {
    await this.#options.memento.update(KEY, { ...this.#plans, [folder]: plan });
    this.#changed.fire();
  }

  async provideCodeLenses({ uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const plans = this.#plans;
    const folder = projectAround(Object.keys(plans), uri.fsPath);
    const plan = folder === undefined ? undefined : plans[folder];
    if (plan === undefined) return [];
    const textDocument = { uri: uri.toString() };
    const symbols = (await this.#options.client()?.sendRequest(DocumentSymbolRequest.type, { textDocument })) ?? [];
    const age = ageText(Date.now() - plan.made);
    return symbols.flatMap((symbol) => {
      const result = Object.hasOwn(plan.results, symbol.name) ? plan.results[symbol.name] : undefined;
      if (result === undefined || !('range' in symbol)) return [];
      const { line } = symbol.range.start;
      const range = new vscode.Range(line, 0, line, 0);
      const title = `${result.text} in ${plan.workspace}, ${age}`;
      return [
        new vscode.CodeLens(range, { title, command: 'voxform.plan', tooltip: 'Plan again' }),
        ...(result.url === undefined
          ? []
          : [
              new vscode.CodeLens(range, {
                title: 'Open in dashboard',
                command: 'vscode.open',
                arguments: [vscode.Uri.parse(result.url, true)],
                tooltip: result.url,
              }),
            ]),
      ];
    });
  }

  dispose(): void {
    clearInterval(this.#clock);
    this.#changed.dispose();
  }

  get #plans(): Readonly<Record<string, LastPlan>> {
    return this.#options.memento.get(KEY, {});
  }
}
