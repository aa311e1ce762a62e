import * as vscode from 'vscode';

/** Shows reports beside the editor, in one panel for each kind of report and project. */
export class ReportPanels {
  readonly #panels = new Map<string, vscode.WebviewPanel>();

  /** @param html a complete page, whose security policy allows only its own script. */
  show(name: string, title: string, html: string): void {
    const panel = this.#panels.get(name) ?? this.#open(name);
    panel.title = title;
    panel.webview.html = html.replace('content="light dark"', `content="${colorScheme()}"`);
    panel.reveal(undefined, true);
  }

  #open(name: string): vscode.WebviewPanel {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel('voxform.report', '', column, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    panel.onDidDispose(() => this.#panels.delete(name));
    this.#panels.set(name, panel);
    return panel;
  }
}

function colorScheme(): 'dark' | 'light' {
  const { kind } = vscode.window.activeColorTheme;
  return kind === vscode.ColorThemeKind.Dark || kind === vscode.ColorThemeKind.HighContrast ? 'dark' : 'light';
}
