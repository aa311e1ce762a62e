const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The text as HTML and XML spell it, between tags or in a quoted attribute. */
export function htmlSpelling(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
