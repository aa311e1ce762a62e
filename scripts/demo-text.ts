export const WIDTH = 80;

/** Prints a comment of the demo, separated from the output of the commands. */
export function say(text: string): void {
  const lines = ['\n#'];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (`${lines[last]} ${word}`.trimStart().length > WIDTH) lines.push(`# ${word}`);
    else lines[last] = `${lines[last]} ${word}`;
  }
  write(`${lines.join('\n')}\n`);
}

export function write(text: string): void {
  process.stdout.write(text);
}
