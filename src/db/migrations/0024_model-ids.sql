CREATE TABLE "model_ids" (
	"model_id" text PRIMARY KEY NOT NULL,
	"first_bound_at" timestamp with time zone DEFAULT now() NOT NULL
);
