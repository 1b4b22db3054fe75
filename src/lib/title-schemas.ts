/**
 * Gives schemas the names of their components in the API description, by their JSON Schema `title`. A schema that is
 * used in several places then appears once, and generated clients have a type of that name.
 */
export function titleSchemas(schemas: Readonly<Record<string, object>>): void {
  for (const [title, schema] of Object.entries(schemas)) Object.assign(schema, { title });
}
