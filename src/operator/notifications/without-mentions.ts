/** A character of no width. */
const NOTHING = '\u200b';

/** `<!channel>`, `<@U1>`, `<#C1>`, `<@&1>`, `<https://a|b>`, `<at>Ann</at>`, but not mathematics. */
const BRACKET = /<(?=[!@#:/&\p{L}])/gu;
/** Discord recognizes these two anywhere; other mentions start a word. */
const MENTION = /@(?=everyone|here)|(?<![\p{L}\p{N}_.+-])@(?=[\p{L}\p{N}_])/giu;
/** `[text](address)`, which can show another address than its target. */
const LINK = /\](?=\()/gu;

/**
 * A text without mentions and disguised links in Slack, Mattermost, Discord, Teams and similar services, which reads the same. Its parts
 * may come from anyone with access to the platform.
 */
export function withoutMentions(text: string): string {
  return text.replace(BRACKET, '‹').replace(MENTION, `@${NOTHING}`).replace(LINK, `]${NOTHING}`);
}
