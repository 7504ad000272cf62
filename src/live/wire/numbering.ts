/** A message with its number among those of its direction on its stream: 1, 2, 3, … */
export type Numbered<Message> = Message & { readonly number: number };

/** Numbers the messages of one direction of a stream, at either end, so that a lost one is detected with the next. */
export class Numbering {
  private last = 0;

  /** Returns the next message to send, with its number. */
  number<Message>(message: Message): Numbered<Message> {
    return { ...message, number: ++this.last };
  }

  /** Checks a received message. Throws `Error` with words that follow "the message". */
  check<Message>(message: Numbered<Message>): Message {
    if (message.number !== ++this.last)
      throw new Error(`has number ${message.number} instead of ${this.last}: others were lost in transit`);
    return message;
  }
}
