import { kinds, lookups } from '../../kinds/index.ts';
import { explanationText, topicsText } from '../../output/explain/explain-text.ts';
import { explain } from '../../output/explain/explanation.ts';
import { findTopic, topicsOf } from '../../output/explain/topics.ts';
import { jsonText } from '../../output/json-text.ts';
import { misuse } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

/** Describes a field, or lists the topics. */
export async function explainTopic(
  { terminal }: Context,
  { topic: asked, output }: JsonFlag & { readonly topic?: string },
): Promise<void> {
  const topics = topicsOf(kinds.values(), lookups.values());
  if (asked === undefined) {
    const list = topics.map(({ path, about, description }) => ({ path, about, description }));
    terminal.out(output === 'json' ? jsonText(list) : topicsText(topics, terminal.style));
    return;
  }
  const found = findTopic(topics, asked);
  if (!('topic' in found)) {
    throw misuse(`unknown topic ${asked}${found.suggestion}`, 'Run voxform explain to list all topics.');
  }
  const explanation = explain(found.topic, topics);
  terminal.out(output === 'json' ? jsonText(explanation) : explanationText(explanation, terminal.style));
}
