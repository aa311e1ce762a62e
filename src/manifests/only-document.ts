import type { Json } from '../values/json.ts';
import type { Finding } from './finding.ts';
import { parseDocuments } from './parse-documents.ts';

/** The single document of a settings file; undefined, with findings, if there is none. */
export function onlyDocument(
  text: string,
  { file, name }: { readonly file: string; readonly name: string },
): { value: Json | undefined; findings: Finding[] } {
  const { documents, problems } = parseDocuments(text);
  const [first, second] = documents;
  const wrong: Omit<Finding, 'severity' | 'file'>[] = [...problems];
  if (first === undefined && wrong.length === 0) wrong.push({ code: 'empty-file', message: 'the file is empty' });
  if (second !== undefined) {
    const message = `${name} must have one document only`;
    wrong.push({ code: 'extra-document', message, line: second.line, column: 1 });
  }
  const findings = wrong.map((problem): Finding => ({ severity: 'error', file, ...problem }));
  return { value: first?.value, findings };
}
