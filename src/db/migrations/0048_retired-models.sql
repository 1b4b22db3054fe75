CREATE TABLE "retired_models" (
	"model_id" text NOT NULL,
	"model_name" text NOT NULL,
	"model_sha256" text,
	"retired_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "retired_models_model_id_model_name_pk" PRIMARY KEY("model_id","model_name")
);
--> statement-breakpoint
ALTER TABLE "knowledge_bases" ADD COLUMN "vector_column" text DEFAULT 'vector' NOT NULL;