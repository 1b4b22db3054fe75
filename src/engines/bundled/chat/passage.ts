/** A text to answer from: a document of the prompt, or a part of a message. */
export interface Passage {
  title?: string;
  text: string;
}
