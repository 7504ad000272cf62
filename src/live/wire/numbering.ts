/** A message with its number among those of its direction on its stream: 1, 2, 3, … */
export type Numbered<Message> = Message & { readonly number: number };

/** Counts the messages of one direction of a stream, at either end: so one that gets lost is noticed with the next. */
export class Numbering {
  private last = 0;

  /** The message that is sent next, with its number. */
  number<Message>(message: Message): Numbered<Message> {
    return { ...message, number: ++this.last };
  }

  /** The message that has come. Throws `Error` whose message says, after "the message", what is wrong. */
  check<Message>(message: Numbered<Message>): Message {
    if (message.number !== ++this.last)
      throw new Error(`has number ${message.number} instead of ${this.last}: others got lost on their way`);
    return message;
  }
}
