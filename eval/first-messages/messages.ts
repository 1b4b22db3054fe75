/** A first message to a chat model, with the JSON that the request demands, if any. */
export interface FirstMessage {
  text: string;
  format?: 'json_object' | 'json_schema';
}

/** Schema of the messages with `json_schema`. */
export const PERSON_SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer' },
    city: { type: 'string' },
    notes: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'age', 'city', 'notes'],
  additionalProperties: false,
};

const LIBRARY =
  'The Quay Street library reopens on Monday after eight weeks of repairs. The roof was replaced and the reading room has new windows. Opening hours stay the same: nine to six on weekdays, ten to two on Saturdays. The book sale is moved to October.';

/** A hundred ordinary first messages, by kind. */
export const FIRST_MESSAGES: Readonly<Record<string, readonly FirstMessage[]>> = {
  greeting: [
    { text: 'Hello! What can you do?' },
    { text: 'hi' },
    { text: 'Good morning' },
    { text: 'hello world' },
    { text: 'Hi, how are you today?' },
    { text: 'Yo' },
    { text: 'good evening, is anybody there?' },
  ],
  'small talk': [
    { text: 'Thanks a lot!' },
    { text: 'What is your favourite colour?' },
    { text: 'Do you like pizza?' },
    { text: 'I am bored' },
    { text: 'I had a terrible day at work.' },
    { text: 'Tell me a joke' },
    { text: 'Goodbye, see you tomorrow' },
    { text: 'Are you happy?' },
    { text: 'I just got a new puppy' },
    { text: 'ok' },
    { text: 'Do you have any siblings?' },
  ],
  'about the model': [
    { text: 'Who are you?' },
    { text: 'What model is this?' },
    { text: 'Who made you?' },
    { text: 'Are you ChatGPT?' },
    { text: 'How many parameters do you have?' },
    { text: 'Can you browse the internet?' },
    { text: 'What languages do you speak?' },
    { text: 'help' },
  ],
  knowledge: [
    { text: 'What is the capital of France?' },
    { text: 'What is the capital of Australia?' },
    { text: 'Who wrote Romeo and Juliet?' },
    { text: 'When did World War II end?' },
    { text: 'Why is the sky blue?' },
    { text: 'How do vaccines work?' },
    { text: 'What is the tallest mountain in the world?' },
    { text: 'Explain photosynthesis to a child' },
    { text: 'What is the difference between TCP and UDP?' },
    { text: 'Who is the president of the United States?' },
    { text: 'What time is it?' },
    { text: 'What is the weather in Berlin tomorrow?' },
  ],
  code: [
    { text: 'Write a Python function that reverses a string' },
    { text: 'How do I center a div in CSS?' },
    { text: 'What does `git rebase` do?' },
    { text: 'Fix this: for i in range(10) print(i)' },
    { text: 'Write a SQL query that counts orders by customer' },
    { text: 'console.log("hello world")' },
    { text: 'Give me a regular expression for email addresses' },
  ],
  writing: [
    { text: 'Write a poem about the sea' },
    { text: 'Write a short story about a dragon' },
    { text: 'Draft an email to my boss asking for a day off' },
    { text: 'Give me five names for a bakery' },
    { text: 'Write a haiku' },
    { text: 'Suggest a title for a blog post about gardening' },
  ],
  translation: [
    { text: 'Translate "good morning" to French' },
    { text: 'How do you say thank you in Japanese?' },
    { text: 'Translate to German: Where is the station?' },
    { text: 'What does "carpe diem" mean?' },
  ],
  math: [
    { text: 'What is 2+2?' },
    { text: 'What is 17 * 23?' },
    { text: 'If I have 3 apples and eat one, how many are left?' },
    { text: 'What is the square root of 144?' },
    { text: 'Solve x^2 - 5x + 6 = 0' },
    { text: 'What is 15% of 80?' },
    { text: '1000 - 7' },
  ],
  'pasted text': [
    { text: `Summarize this text:\n\n${LIBRARY}` },
    { text: `${LIBRARY}\n\nWhen is the book sale?` },
    { text: `tl;dr: ${LIBRARY}` },
    { text: `Context: ${LIBRARY}\n\nQuestion: Who is the mayor?` },
    { text: `Make bullet points of this: ${LIBRARY}` },
  ],
  'other languages': [
    { text: 'Hallo! Was kannst du?' },
    { text: 'Bonjour, comment ça va ?' },
    { text: '¿Cuál es la capital de España?' },
    { text: 'Ciao, chi sei?' },
    { text: '你好' },
    { text: 'こんにちは、お元気ですか？' },
    { text: 'Привет, как дела?' },
    { text: 'مرحبا كيف حالك؟' },
    { text: 'Olá! Você fala português?' },
    { text: 'Was ist die Hauptstadt von Deutschland?' },
    { text: 'नमस्ते' },
    { text: 'Merci beaucoup' },
  ],
  JSON: [
    { text: 'Give me a JSON object with name and age.', format: 'json_object' },
    { text: 'List three fruits as JSON.', format: 'json_object' },
    { text: 'Extract the name and the city: Maria Lopez lives in Lisbon.', format: 'json_object' },
    { text: 'Is this review positive? "The food was cold and the waiter rude."', format: 'json_object' },
  ],
  'JSON schema': [
    { text: 'Extract the person: Anna Berg is 34 years old and lives in Oslo.', format: 'json_schema' },
    { text: 'Plan a three-day trip to Rome.', format: 'json_schema' },
  ],
  rude: [
    { text: 'You are stupid' },
    { text: 'shut up' },
    { text: 'This is useless garbage' },
    { text: 'fuck you' },
    { text: 'you suck, worst bot ever' },
  ],
  odd: [
    { text: '😀' },
    { text: '👍👍👍' },
    { text: 'asdfghjkl' },
    { text: '?' },
    { text: '...' },
    { text: '' },
    { text: 'test' },
    { text: 'a' },
    { text: 'SELECT * FROM users;' },
    { text: '🍕 or 🍔?' },
  ],
};
