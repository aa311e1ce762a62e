import { recordUrl } from '../../engine/plan/dashboard-links.ts';
import { type Html, html } from '../../output/html/html.ts';
import { dashboardLink } from '../../output/html/resource-html.ts';
import type { ActionName, FreezeAction, WorkspaceDetail } from '../page-data.ts';
import { addressText, factList, pathOf, type ViewContext } from './parts.ts';

/** Returns the sign-in form. @param problem the reason why the last attempt was refused, if any. */
export function signInView(to: string, { missingTokens, tokenOrigin, signOn }: ViewContext, problem?: string): Html {
  const form = html`<form method="post" action="/sign-in"><input type="hidden" name="to" value="${to}">
<label>Token<input type="password" name="token" required${signOn === undefined ? html` autofocus` : ''} autocomplete="current-password" maxlength="1024"${problem === undefined ? '' : html` aria-describedby="sign-in-problem"`}></label>
<button${signOn === undefined ? html` class="primary"` : ''}>Sign in</button></form><p class="faint">${tokenOrigin}</p>`;
  const provider =
    signOn && html`<p><a class="button primary" href="${signOn.startUrl(to)}">Sign in with ${signOn.host}</a></p>`;
  return html`<div class="narrow"><h1>Sign in</h1>${problem === undefined ? '' : html`<p class="panel bad" id="sign-in-problem" role="alert">${problem}</p>`}
${provider ?? ''}
${missingTokens === undefined ? form : html`<p>${missingTokens}</p>`}</div>`;
}

/** Returns a page with one message and one link. */
export function noteView(
  heading: string,
  text: string,
  { back, link }: { readonly back: string; readonly link: string },
): Html {
  return html`<h1>${heading}</h1><p>${text}</p><p><a class="button" href="${back}">${link}</a></p>`;
}

interface ActionWords {
  readonly heading: string;
  readonly button: string;
  readonly effect: string;
}

export const pageActionWords: Readonly<Record<ActionName | FreezeAction, ActionWords>> = {
  run: {
    heading: 'Run now',
    button: 'Run now',
    effect: 'A run starts now, or after the one in progress.',
  },
  approve: {
    heading: 'Approve the plan',
    button: 'Approve plan',
    effect:
      'The next run applies exactly this plan. If anything has changed since it was made, nothing is applied, and the new plan needs its own approval.',
  },
  reject: {
    heading: 'Reject the plan',
    button: 'Reject plan',
    effect:
      'This plan is not applied. Approval is requested again only for a different plan. Until then, this plan can still be approved.',
  },
  pause: {
    heading: 'Pause',
    button: 'Pause',
    effect: 'No run of this workspace starts until it is resumed. A run in progress finishes.',
  },
  resume: { heading: 'Resume', button: 'Resume', effect: 'Runs start again. The first run starts now.' },
  'close-orphan': {
    heading: 'Close an orphan',
    button: 'Close',
    effect:
      'Removes the orphan from the list. Nothing changes on the platform: a record that was not deleted in the dashboard stays active.',
  },
  'compare-calls': {
    heading: 'Compare calls',
    button: 'Compare',
    effect:
      'Reads all calls of the last 30 days, which may take minutes. The result appears on the page of the resource. Nothing changes on the platform.',
  },
  freeze: {
    heading: 'Freeze the fleet',
    button: 'Freeze the fleet',
    effect:
      'Within a second, nothing more is written to any platform. Runs in progress finish their requests in flight; later runs only plan. Approvals wait until the fleet is resumed.',
  },
  unfreeze: {
    heading: 'Resume the fleet',
    button: 'Resume the fleet',
    effect: 'Runs apply changes again. Held changes are applied now. Paused workspaces stay paused.',
  },
};

const runEffects: Readonly<Record<string, (platform: string) => string>> = {
  report: (platform) => `It only reports how the manifests differ from ${platform}. It applies nothing.`,
  apply: (platform) => `It applies the changes to ${platform} without asking for approval.`,
  approve: (platform) =>
    `It makes a plan for ${platform}, which waits for approval. It applies only a plan that is already approved.`,
};

const closingWords = [
  ['deleted', 'The record was deleted in the dashboard'],
  ['handed-over', 'The record was handed over'],
  ['kept', 'The record is kept on purpose'],
] as const;

/** Returns the confirmation of an action, with its effect and a form. */
export function confirmView(
  { address, mode, orphans, facts: workspaceFacts, saved, dashboard }: WorkspaceDetail,
  {
    action,
    subject,
    plan: planHtml,
  }: { readonly action: ActionName; readonly subject: string | undefined; readonly plan: Html },
  { visitor, now, isSingle, freeze }: ViewContext,
): Html {
  const { heading, button, effect } = pageActionWords[action];
  const platform = workspaceFacts.find(([label]) => label === 'Platform');
  const more =
    action === 'run'
      ? runEffects[mode]?.(String(platform?.[1] || 'the platform'))
      : isSingle && action === 'pause'
        ? 'A restart of voxform ends the pause.'
        : undefined;
  const orphan = orphans.find(({ id }) => id === subject);
  const reasonField =
    action === 'close-orphan'
      ? html`<label>Reason<select name="because">${closingWords.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></label>`
      : action === 'pause' || action === 'reject'
        ? html`<label>Reason<input type="text" name="because" maxlength="255"${action === 'pause' ? html` required` : ''}></label>`
        : '';
  const plan = saved?.id === subject ? saved : undefined;
  const link = dashboardLink(orphan && recordUrl({ dashboard }, orphan));
  const about = [
    ['Mode', mode],
    ['Platform', platform?.[1]],
    ['Plan made', plan?.madeAt],
    ...(plan === undefined ? [] : workspaceFacts.filter(([label]) => label.startsWith('Plan rejected'))),
    ['Orphan', orphan?.address],
    ['Id', orphan?.id],
    ['Dashboard', link.text === '' ? undefined : link],
    ['Resource', action === 'compare-calls' ? subject : undefined],
  ] as const;
  return html`<p class="crumbs"><a href="${pathOf(address)}">${addressText(address)}</a></p><h1>${heading}</h1>
${factList(about, now)}
${planHtml}<p class="effect">${effect} ${more} ${freeze !== undefined && (action === 'run' || action === 'approve') ? 'The fleet is frozen: nothing is applied until it is resumed.' : ''}</p>
<form class="confirm" method="post" action="${pathOf(address, 'actions', action)}"><input type="hidden" name="form" value="${visitor.formToken}">${subject === undefined ? '' : html`<input type="hidden" name="of" value="${subject}">`}${reasonField}
<p class="actions"><button class="primary">${button}${plan && html` <code>${plan.id}</code>`}</button><a class="button" href="${pathOf(address)}">Cancel</a></p></form>`;
}

/** Returns the confirmation for freezing or resuming the fleet. */
export function freezeView(action: FreezeAction, { visitor }: ViewContext): Html {
  const { heading, button, effect } = pageActionWords[action];
  const reason = html`<label>Reason<input type="text" name="because" maxlength="255" required autofocus></label>`;
  return html`<p class="crumbs"><a href="/">Overview</a></p><h1>${heading}</h1>
<p class="effect">${effect}</p>
<form class="confirm" method="post" action="/${action}"><input type="hidden" name="form" value="${visitor.formToken}">${action === 'freeze' && reason}
<p class="actions"><button class="primary">${button}</button><a class="button" href="/">Cancel</a></p></form>`;
}
