/** Takes no place where it is shown. */
const NOTHING = '\u200b';

/** `<!channel>`, `<@U1>`, `<#C1>`, `<@&1>`, `<https://a|b>`, `<at>Ann</at>`: but no mathematics. */
const BRACKET = /<(?=[!@#:/&\p{L}])/gu;
/** Discord takes these two for mentions wherever they stand; what else follows an @ calls somebody at the start of a word. */
const MENTION = /@(?=everyone|here)|(?<![\p{L}\p{N}_.+-])@(?=[\p{L}\p{N}_])/giu;
/** `[text](address)`, which shows another address than it leads to. */
const LINK = /\](?=\()/gu;

/**
 * A text that calls nobody and links nowhere under a false name in Slack, Mattermost, Discord, Teams and the like, and reads the same.
 * It may quote the platform, which anyone with access to it can write to.
 */
export function withoutMentions(text: string): string {
  return text.replace(BRACKET, '‹').replace(MENTION, `@${NOTHING}`).replace(LINK, `]${NOTHING}`);
}
