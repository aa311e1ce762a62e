/** The text of an export that a person must replace with a secret. It is never used as one. */
export const EXPORT_PLACEHOLDER = 'voxform-export-placeholder';

export type Result<T> = { readonly value: T } | { readonly code: string; readonly message: string };

export function isPlaceholder(text: string): boolean {
  return text.trim() === EXPORT_PLACEHOLDER;
}

export function placeholderProblem(what: string): { readonly code: string; readonly message: string } {
  return {
    code: 'placeholder-secret',
    message: `${what} still has the placeholder of an export; replace it with the real text`,
  };
}
